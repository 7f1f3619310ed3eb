//! The order of frames in a message (RFC 9114 §4.1): fields, content, trailers.

use super::pseudo_fields::Section;
use noq_proto::Side;

/// What has come of the messages on a request stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Nothing,
    Fields,
    Content,
    Trailers,
}

/// Follows the frames of a stream.
#[derive(Debug)]
pub(super) struct MessageOrder {
    stage: Stage,
    side: Side,
}

impl MessageOrder {
    /// For a stream that `side` receives: a server one request, a client any number of interim
    /// responses and a final one.
    pub fn new(side: Side) -> Self {
        Self { stage: Stage::Nothing, side }
    }

    /// Returns whether a DATA frame may come now, and notes it.
    pub fn content(&mut self) -> bool {
        let fits = matches!(self.stage, Stage::Fields | Stage::Content);
        if fits {
            self.stage = Stage::Content;
        }
        fits
    }

    /// Notes a HEADERS frame. Returns what its fields are, or `None` if none may come now.
    ///
    /// A client cannot tell the fields of a final response from trailers without content, but by
    /// the status, which the library checks.
    pub fn section(&mut self) -> Option<Section> {
        let (stage, section) = match (self.stage, self.side) {
            (Stage::Nothing, Side::Server) => (Stage::Fields, Section::Request),
            (Stage::Nothing | Stage::Fields, Side::Client) => (Stage::Fields, Section::Response),
            (Stage::Fields, Side::Server) | (Stage::Content, _) => {
                (Stage::Trailers, Section::Trailers)
            }
            (Stage::Trailers, _) => return None,
        };
        self.stage = stage;
        Some(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays `h` for HEADERS and `d` for DATA. Returns the number of frames that fit.
    fn fitting(side: Side, frames: &str) -> usize {
        let mut order = MessageOrder::new(side);
        let fits = |frame: &char| match frame {
            'h' => order.section().is_some(),
            _ => order.content(),
        };
        frames.chars().take_while(fits).count()
    }

    #[test]
    fn a_request_is_fields_content_trailers() {
        for (frames, fit) in [("hddh", 4), ("hh", 2), ("d", 0), ("hhh", 2), ("hhd", 2), ("hdhd", 3)]
        {
            assert_eq!(fitting(Side::Server, frames), fit, "{frames}");
        }
    }

    #[test]
    fn a_response_may_have_interim_ones_before_it() {
        for (frames, fit) in [("hhhdh", 5), ("d", 0), ("hdhh", 3), ("hdhd", 3)] {
            assert_eq!(fitting(Side::Client, frames), fit, "{frames}");
        }
    }
}
