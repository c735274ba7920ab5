//! From text to rows.

use crate::model::*;
use crate::{Kind, kind};

/// Reads one chapter file; its functions are appended to `functions`.
pub fn chapter(
    file: &str,
    text: &str,
    index: usize,
    functions: &mut Vec<Function>,
) -> Result<Chapter, String> {
    let mut chapter = None;
    for (number, line) in lines(text) {
        let at = |what: String| format!("{file}.table:{number}: {what}");
        if let Some(heading) = line.strip_prefix("chapter ") {
            chapter = Some(self::heading(heading).map_err(at)?);
        } else {
            functions.push(row(line, index).map_err(at)?);
        }
    }
    chapter.ok_or_else(|| format!("{file}.table: no chapter line"))
}

/// Reads the types of user functions.
pub fn callbacks(text: &str) -> Result<Vec<Callback>, String> {
    lines(text)
        .map(|(number, line)| callback(line).ok_or(format!("callbacks.table:{number}: {line}")))
        .collect()
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn heading(text: &str) -> Result<Chapter, String> {
    let (number, title) = text.split_once(' ').ok_or("a chapter needs a number and a title")?;
    let number = number.parse().map_err(|_| format!("{number} is not a chapter number"))?;
    Ok(Chapter { number, title: title.to_string() })
}

fn callback(line: &str) -> Option<Callback> {
    let (name, rest) = line.split_once(' ')?;
    let (returns, rest) = rest.split_once(" (")?;
    let parameters = rest.strip_suffix(')')?;
    Some(Callback { name: name.into(), returns: returns.into(), parameters: parameters.into() })
}

/// `Name(arguments) attributes -> target`
fn row(line: &str, chapter: usize) -> Result<Function, String> {
    let (head, target) = line.split_once("->").ok_or("no -> target")?;
    let (name, rest) = head.split_once('(').ok_or("no argument list")?;
    let (arguments, attributes) = rest.rsplit_once(')').ok_or("the argument list does not end")?;
    // A `)` of the attributes would belong to them; they have none, so the last one closes the list.
    let mut function = Function {
        name: name.to_string(),
        arguments: Vec::new(),
        variadic: false,
        returns: None,
        anytime: false,
        deprecated: false,
        on_file: false,
        c_only: false,
        narrow: false,
        keeps: false,
        fast: None,
        second: None,
        target: self::target(target.trim())?,
        chapter,
    };
    for text in split_arguments(arguments) {
        match text {
            "..." => function.variadic = true,
            _ => function.arguments.push(argument(text)?),
        }
    }
    set_attributes(&mut function, attributes)?;
    check_lengths(&function)?;
    Ok(function)
}

/// Splits at commas; empty for an empty list.
fn split_arguments(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|argument| !argument.is_empty())
}

fn set_attributes(function: &mut Function, text: &str) -> Result<(), String> {
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "anytime" => function.anytime = true,
            "deprecated" => function.deprecated = true,
            "on_file" => function.on_file = true,
            "c_only" => function.c_only = true,
            "narrow" => function.narrow = true,
            "keeps" => function.keeps = true,
            "fast" => function.fast = Some(words.next().ok_or("no fast path")?.to_string()),
            "second" => function.second = Some(words.next().ok_or("no second fast path")?.to_string()),
            "returns" => function.returns = Some(find(words.next().unwrap_or(""))?),
            _ => return Err(format!("unknown attribute {word}")),
        }
    }
    Ok(())
}

/// `module::function`, `module::function(expression, ..)` or `module::function(expression)`
fn target(text: &str) -> Result<Target, String> {
    let Some((path, expressions)) = text.split_once('(') else {
        return Ok(Target { path: text.to_string(), leading: Vec::new(), rest: true });
    };
    let expressions = expressions.strip_suffix(')').ok_or("a target's expressions do not end")?;
    let mut leading = split_expressions(expressions);
    let rest = leading.last().is_some_and(|last| last == "..");
    leading.retain(|expression| expression != ".." && !expression.is_empty());
    Ok(Target { path: path.to_string(), leading, rest })
}

/// Splits at the commas outside parentheses.
fn split_expressions(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("starts with one part").push(letter);
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

/// `name:[direction[?]] [marks] kind[shape]` or `name:fn[?] Callback`
fn argument(text: &str) -> Result<Argument, String> {
    let (name, rest) = text.split_once(':').ok_or_else(|| format!("{text}: no kind"))?;
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    let last = words.pop().ok_or_else(|| format!("{name}: no kind"))?;
    let mut optional = false;
    let mut direction = Direction::In;
    let mut callback = false;
    let mut marks = Vec::new();
    for word in words {
        if let Some(mark) = mark(word) {
            marks.push(mark);
            continue;
        }
        let plain = word.trim_end_matches('?');
        optional |= plain != word;
        match plain {
            "out" => direction = Direction::Out,
            "inout" => direction = Direction::InOut,
            "fn" => callback = true,
            _ => return Err(format!("{name}: unknown direction {word}")),
        }
    }
    let (what, shape) = match callback {
        true => (What::Callback(last.to_string()), Shape::One),
        false => {
            let (word, shape) = self::shape(last);
            (What::Kind(find(word)?), shape)
        }
    };
    Ok(Argument { name: name.to_string(), direction, optional, what, shape, marks })
}

fn mark(word: &str) -> Option<Mark> {
    Some(match word {
        "logical" => Mark::Logical,
        "index" => Mark::Index,
        "c" => Mark::COnly,
        "trimmed" => Mark::Trimmed,
        "state" => Mark::State,
        "attribute" => Mark::Attribute,
        "short" => Mark::Short,
        "detached" => Mark::Detached,
        "at_root" => Mark::AtRoot,
        "kept" => Mark::Kept,
        "per_peer" => Mark::Per(Per::Peer),
        "per_destination" => Mark::Per(Per::Destination),
        "per_source" => Mark::Per(Per::Source),
        "per_dimension" => Mark::Per(Per::Dimension),
        "per_command" => Mark::Per(Per::Command),
        _ => return None,
    })
}

fn shape(text: &str) -> (&str, Shape) {
    if let Some((word, length)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let length = if length == "*" { Length::Known } else { Length::Argument(length.to_string()) };
        return (word, Shape::Array(length));
    }
    if let Some((word, bound)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        return (word, Shape::Bounded(bound.to_string()));
    }
    (text, Shape::One)
}

fn find(word: &str) -> Result<&'static Kind, String> {
    kind::find(word).ok_or_else(|| format!("unknown kind {word}"))
}

/// Every length must name an argument of the same row.
fn check_lengths(function: &Function) -> Result<(), String> {
    for argument in &function.arguments {
        if let Shape::Array(Length::Argument(length)) = &argument.shape
            && function.argument(length).is_none()
        {
            return Err(format!("{}: no argument {length}", argument.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_row_is_named_with_what_is_wrong() {
        let read = |line: &str| row(line, 0).map(|_| ()).unwrap_err();
        assert_eq!(read("Send(buf:cbuf)"), "no -> target");
        assert_eq!(read("Send(buf:cbuff) -> a::b"), "unknown kind cbuff");
        assert_eq!(read("Send(buf:cbuf) sometimes -> a::b"), "unknown attribute sometimes");
        assert_eq!(read("Waitall(requests:inout request[count]) -> a::b"), "requests: no argument count");
        let error = chapter("p2p", "chapter 3 Title\n\nSend(buf) -> -\n", 0, &mut Vec::new()).unwrap_err();
        assert_eq!(error, "p2p.table:3: buf: no kind");
    }

    #[test]
    fn a_target_may_lead_with_expressions() {
        let target = target("coll::bcast(Mode::Persistent(request), -info, ..)").unwrap();
        assert_eq!(target.path, "coll::bcast");
        assert_eq!(target.leading, ["Mode::Persistent(request)", "-info"]);
        assert!(target.rest);
    }
}
