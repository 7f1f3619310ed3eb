//! The answer in a sentence: what took the most time, how much, and what shows it.

use super::words::{Ends, detail, limit_of_path, main_cause, name, needs, seconds};
use bentpipe_captures::CapturedTransfer;
use bentpipe_timeseries::TimePart;

/// Returns why a transfer took its time: `Flow control took 5.20 s of 8.13 s: the client's receive
/// window of 131 kB holds 4 % of the path's 3.28 MB`.
pub(super) fn answer(recorded: &CapturedTransfer, ends: &Ends) -> String {
    let completion = recorded.completion.as_secs_f64();
    let all = seconds(completion);
    if let Some((part, time)) = main_cause(recorded) {
        let what = capital(&name(part, recorded));
        let shown = detail(part, recorded, ends, &mut false);
        let took = format!("took {} s of {all} s", seconds(time));
        return match part {
            // Whose pauses they were belongs to what they are.
            TimePart::Application => format!("{what}{shown} {took}"),
            _ => match shown.strip_prefix(" (").and_then(|text| text.strip_suffix(')')) {
                Some(shown) => format!("{what} {took}: {shown}"),
                None => format!("{what} {took}{shown}"),
            },
        };
    }
    if let Some(limit) = limit_of_path(recorded) {
        return capital(&limit);
    }
    match needs(recorded).into_iter().next() {
        Some((part, time)) => format!(
            "Nothing held it up for long: {} s of {all} s were {}",
            seconds(time),
            name(part, recorded)
        ),
        None => format!("It took {all} s"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(capital("slow start"), "Slow start");
        assert_eq!(capital(""), "");
    }
}
