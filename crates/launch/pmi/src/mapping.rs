//! `PMI_process_mapping`: which rank runs on which node, as launchers of the MPICH family publish it.
//!
//! `(vector,(first,nodes,ranks),…)`: each block gives `ranks` consecutive ranks to each of `nodes` nodes,
//! counted from node `first`. The blocks repeat until every rank has a node.

/// Upper bound on the ranks of a mapping that is accepted: node indices of a job of this size take 64 MiB.
const MAX_RANKS: usize = 1 << 24;

/// Node index of each of `size` ranks; `None` where `text` is no mapping of that many ranks.
pub fn parse(text: &str, size: usize) -> Option<Vec<u32>> {
    let text = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let blocks = parse_blocks(text.strip_prefix("vector")?)?;
    if size > MAX_RANKS || blocks.iter().all(|b| b.nodes == 0 || b.ranks == 0) {
        return None;
    }
    let mut node_of = Vec::with_capacity(size);
    while node_of.len() < size {
        for block in &blocks {
            for node in 0..block.nodes {
                let fill = (block.ranks as usize).min(size - node_of.len());
                node_of.extend(std::iter::repeat_n(block.first.checked_add(node)?, fill));
                if node_of.len() == size {
                    return Some(node_of);
                }
            }
        }
    }
    Some(node_of)
}

/// The mapping of the ranks in `node_of`, in run-length form.
pub fn format(node_of: &[u32]) -> String {
    let mut blocks: Vec<Block> = Vec::new();
    for run in node_of.chunk_by(|a, b| a == b) {
        let ranks = run.len() as u32;
        match blocks.last_mut() {
            Some(last) if last.ranks == ranks && last.first.checked_add(last.nodes) == Some(run[0]) => {
                last.nodes += 1
            }
            _ => blocks.push(Block { first: run[0], nodes: 1, ranks }),
        }
    }
    let mut text = String::from("(vector");
    for Block { first, nodes, ranks } in blocks {
        text.push_str(&format!(",({first},{nodes},{ranks})"));
    }
    text + ")"
}

struct Block {
    first: u32,
    nodes: u32,
    ranks: u32,
}

fn parse_blocks(mut text: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    while !text.is_empty() {
        let (inside, rest) = text.strip_prefix(',')?.trim_start().strip_prefix('(')?.split_once(')')?;
        let mut numbers = inside.split(',').map(|n| n.trim().parse::<u32>().ok());
        let block = Block { first: numbers.next()??, nodes: numbers.next()??, ranks: numbers.next()?? };
        if numbers.next().is_some() {
            return None;
        }
        blocks.push(block);
        text = rest;
    }
    (!blocks.is_empty()).then_some(blocks)
}

/// The ranks on `node`, ascending.
pub(crate) fn ranks_on(node: u32, node_of: &[u32]) -> Vec<u32> {
    (0..node_of.len() as u32).filter(|&rank| node_of[rank as usize] == node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_repeat_until_all_ranks_have_a_node() {
        assert_eq!(parse("(vector,(0,1,2))", 2), Some(vec![0, 0]));
        assert_eq!(parse("(vector,(0,2,1))", 5), Some(vec![0, 1, 0, 1, 0]));
        assert_eq!(parse("(vector,(0,2,2),(5,1,1))", 5), Some(vec![0, 0, 1, 1, 5]));
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        for text in
            ["", "(vector)", "(vector,(0,0,1))", "(vector,(0,1))", "(vector,(0,1,1)", "vector,(0,1,1)"]
        {
            assert_eq!(parse(text, 3), None, "{text}");
        }
        assert_eq!(parse("(vector,(4294967295,2,1))", 2), None);
    }

    proptest! {
        #[test]
        fn format_and_parse_agree(node_of in proptest::collection::vec(0u32..5, 1..60)) {
            prop_assert_eq!(parse(&format(&node_of), node_of.len()), Some(node_of));
        }

        #[test]
        fn no_text_panics(text in "\\(?vector,[(),0-9]{0,40}", size in 0usize..100) {
            let _ = parse(&text, size);
        }
    }
}
