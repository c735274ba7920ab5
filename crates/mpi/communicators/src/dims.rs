//! `MPI_Dims_create` (MPI-5.0 section 8.5.2): as square a grid as the fixed dimensions leave.

use std::cmp::Reverse;

use abi::{Error, Result};

use objects::domain::Token;

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

/// `nodes` as a product of `count` factors in non-increasing order, as close to each other as possible (MPI-5.0
/// section 8.5.2): the largest and the smallest differ least, then the smallest is largest, then the next, and so on.
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

/// How far the factors are apart, and what decides between equals; less is better.
fn imbalance(factors: &[i32]) -> (i32, impl Iterator<Item = Reverse<i32>>) {
    let (largest, smallest) = (factors.first().copied().unwrap_or(1), factors.last().copied().unwrap_or(1));
    (largest - smallest, factors.iter().rev().copied().map(Reverse))
}

fn is_better(factors: &[i32], than: &[i32]) -> bool {
    let ((apart, ascending), (apart_then, ascending_then)) = (imbalance(factors), imbalance(than));
    apart.cmp(&apart_then).then_with(|| ascending.cmp(ascending_then)).is_lt()
}

/// Tries divisors in increasing order for the next (not larger) factor; keeps the best list in `best`.
fn search(rest: i32, count: usize, divisors: &[i32], chosen: &mut Vec<i32>, best: &mut Vec<i32>) {
    let limit = chosen.last().copied().unwrap_or(rest);
    if count == 1 {
        if rest <= limit {
            chosen.push(rest);
            if is_better(chosen, best) {
                best.clone_from(chosen);
            }
            chosen.pop();
        }
        return;
    }
    let root = least_root(rest, count);
    for &factor in divisors.iter().take_while(|&&factor| factor <= limit) {
        // The factors left are at most this one, and one of them is at most the root of the rest.
        if rest % factor != 0 || !reaches(factor, count, rest) {
            continue;
        }
        let largest = chosen.first().copied().unwrap_or(factor);
        if largest - root.min(factor) > imbalance(best).0 {
            continue;
        }
        chosen.push(factor);
        search(rest / factor, count - 1, divisors, chosen, best);
        chosen.pop();
    }
}

/// Whether the product of `count` factors of that size is at least `rest`.
fn reaches(factor: i32, count: usize, rest: i32) -> bool {
    f64::from(factor).powi(count as i32) >= f64::from(rest)
}

/// The least factor of which `count` reach `rest`.
fn least_root(rest: i32, count: usize) -> i32 {
    let (mut low, mut high) = (1, rest);
    while low < high {
        let middle = low + (high - low) / 2;
        if reaches(middle, count, rest) { high = middle } else { low = middle + 1 }
    }
    low
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
        assert_eq!(balanced(7488, 3), [26, 18, 16]);
        assert_eq!(balanced(5040, 3), [21, 16, 15]);
        assert_eq!(balanced(98784, 5), [14, 14, 9, 8, 7]);
        assert_eq!(balanced(1 << 30, 30), [2; 30]);
        assert_eq!(balanced(2_095_133_040, 10)[..2], [19, 17]);
        assert_eq!(balanced(49152, 3), [48, 32, 32]);
    }
}
