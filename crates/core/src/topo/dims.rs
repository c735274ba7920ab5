//! `MPI_Dims_create` (MPI-5.0 section 8.5.2): as square a grid as the fixed dimensions leave.

use abi::{Error, Result};

use crate::domain::Token;

/// `MPI_Dims_create`: fills in the dimensions that are 0, as close to each other as possible and in
/// non-increasing order.
pub fn dims_create(_t: &mut Token, nodes: i32, dims: &mut [i32]) -> Result<()> {
    let bad = |what| Error::new(abi::ERR_DIMS, what);
    if nodes < 1 || dims.iter().any(|&dim| dim < 0) {
        return Err(bad("the number of nodes is not positive or a dimension is negative"));
    }
    let fixed = dims.iter().filter(|&&dim| dim > 0).try_fold(1i32, |product, &dim| product.checked_mul(dim));
    let fixed = fixed.filter(|fixed| nodes % fixed == 0);
    let rest = nodes / fixed.ok_or(bad("the number of nodes is no multiple of the fixed dimensions"))?;
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if free == 0 {
        return if rest == 1 { Ok(()) } else { Err(bad("the fixed dimensions do not make up all nodes")) };
    }
    let mut factors = balanced(rest, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().unwrap_or(1);
    }
    Ok(())
}

/// `nodes` as a product of `count` factors in non-increasing order, the largest as small as possible, then the
/// next, and so on.
fn balanced(nodes: i32, count: usize) -> Vec<i32> {
    let mut best = vec![nodes];
    best.resize(count, 1);
    let divisors: Vec<i32> = (1..=nodes.isqrt())
        .filter(|d| nodes % d == 0)
        .flat_map(|d| [d, nodes / d])
        .collect::<std::collections::BTreeSet<i32>>()
        .into_iter()
        .collect();
    search(nodes, count, &divisors, &mut Vec::new(), &mut best);
    best
}

/// Tries divisors in increasing order for the next (not larger) factor; keeps the lexicographically least list.
fn search(rest: i32, count: usize, divisors: &[i32], chosen: &mut Vec<i32>, best: &mut Vec<i32>) {
    let limit = chosen.last().copied().unwrap_or(rest);
    if count == 1 {
        if rest <= limit {
            chosen.push(rest);
            if *chosen < *best {
                best.clone_from(chosen);
            }
            chosen.pop();
        }
        return;
    }
    for &factor in divisors {
        if factor > limit
            || chosen.len() < best.len() && chosen[..] == best[..chosen.len()] && factor > best[chosen.len()]
        {
            break;
        }
        // The remaining factors are at most this one: their product must be able to reach the rest.
        let reach = i128::from(factor).pow(count.min(40) as u32);
        if rest % factor != 0 || reach < i128::from(rest) {
            continue;
        }
        chosen.push(factor);
        search(rest / factor, count - 1, divisors, chosen, best);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn grids_are_as_square_as_they_can_be() {
        assert_eq!(balanced(6, 2), [3, 2]);
        assert_eq!(balanced(7, 3), [7, 1, 1]);
        assert_eq!(balanced(12, 3), [3, 2, 2]);
        assert_eq!(balanced(16, 3), [4, 2, 2]);
        assert_eq!(balanced(1024, 2), [32, 32]);
        assert_eq!(balanced(1, 2), [1, 1]);
        assert_eq!(balanced(49152, 3), [48, 32, 32]);
    }
}
