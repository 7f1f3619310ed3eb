//! Indented JSON in which a list of numbers takes one line.

use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, Write};

/// Formats as `serde_json` does with indentation, but keeps numbers of a list on one line.
pub(crate) struct NumbersInLines<'a> {
    pretty: PrettyFormatter<'a>,
    /// For each open list, true if its values stand on lines of their own.
    lists: Vec<bool>,
    /// True if a value of a list follows whose kind is not known yet, and whether it is the first.
    value: Option<bool>,
}

impl NumbersInLines<'_> {
    pub fn new() -> Self {
        Self { pretty: PrettyFormatter::new(), lists: Vec::new(), value: None }
    }

    /// Starts a number of a list.
    fn number<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.value.take() {
            Some(false) => writer.write_all(b", "),
            _ => Ok(()),
        }
    }

    /// Starts another value of a list, on a line of its own.
    fn value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let Some(first) = self.value.take() else { return Ok(()) };
        if let Some(lines) = self.lists.last_mut() {
            *lines = true;
        }
        self.pretty.begin_array_value(writer, first)
    }
}

/// Writes each number after [`NumbersInLines::number`].
macro_rules! numbers {
    ($($name:ident: $type:ty),+ $(,)?) => {$(
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, value: $type) -> io::Result<()> {
            self.number(writer)?;
            self.pretty.$name(writer, value)
        }
    )+};
}

impl Formatter for NumbersInLines<'_> {
    numbers!(
        write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_i128: i128,
        write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_u128: u128,
        write_f32: f32, write_f64: f64,
    );

    /// A missing number.
    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.number(writer)?;
        self.pretty.write_null(writer)
    }

    fn write_bool<W: ?Sized + Write>(&mut self, writer: &mut W, value: bool) -> io::Result<()> {
        self.value(writer)?;
        self.pretty.write_bool(writer, value)
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.value(writer)?;
        self.pretty.begin_string(writer)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.value(writer)?;
        self.lists.push(false);
        self.pretty.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists.pop();
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.value = Some(first);
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        // After a value, `PrettyFormatter` ends the list on a line of its own.
        match self.lists.last() {
            Some(true) => self.pretty.end_array_value(writer),
            _ => Ok(()),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.value(writer)?;
        self.pretty.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::{Value, json};

    fn text(value: &Value) -> String {
        let mut bytes = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut bytes, NumbersInLines::new());
        value.serialize(&mut serializer).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lists_of_numbers_take_one_line_and_everything_else_is_as_before() {
        let other = json!({ "a": [{ "b": 1 }, { "c": [] }], "d": ["x", "y"], "e": {}, "f": [[]] });
        assert_eq!(text(&other), serde_json::to_string_pretty(&other).unwrap());
        let numbers = json!({ "a": [1, 2.5, null], "b": [{ "c": [3] }] });
        assert_eq!(
            text(&numbers),
            "{\n  \"a\": [1, 2.5, null],\n  \"b\": [\n    {\n      \"c\": [3]\n    }\n  ]\n}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text(&numbers)).unwrap(), numbers);
    }
}
