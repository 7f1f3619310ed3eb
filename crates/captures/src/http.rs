//! Header sections of HTTP/3, whichever file has them.

use crate::event::HttpMessage;
use crate::json::Scalar;

/// Longest path and host that are kept, in bytes.
const MAX_VALUE: usize = 1024;

/// Returns the request or response with these fields.
pub fn message<'a>(
    stream: u64,
    is_sent: bool,
    fields: impl Iterator<Item = (&'a str, &'a Scalar)>,
) -> HttpMessage {
    let mut message = HttpMessage { stream, is_sent, ..HttpMessage::default() };
    for (name, value) in fields {
        let text = || value.text().map(shortened);
        match name.to_ascii_lowercase().as_str() {
            ":method" => message.method = text(),
            ":authority" => message.authority = text(),
            ":path" => message.path = text(),
            ":status" => {
                message.status = value.integer().and_then(|status| status.try_into().ok());
            }
            "content-length" => message.content_length = value.integer(),
            _ => {}
        }
    }
    message
}

fn shortened(text: &str) -> String {
    text.chars()
        .scan(0, |bytes, char| {
            *bytes += char.len_utf8();
            (*bytes <= MAX_VALUE).then_some(char)
        })
        .collect()
}
