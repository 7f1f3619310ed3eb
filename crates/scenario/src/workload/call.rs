//! `call`: audio and video in one or both directions.

use super::cbr::EcnField;
use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::Transfer;
use crate::error::Problem;
use crate::limits::{self, Check};
use bentpipe_results::Direction;
use bentpipe_units::{Rate, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_spanned::Spanned;

/// Rate of the audio of a call whose table has neither audio nor video: that of the C4 tests.
const AUDIO: Rate = Rate::from_bps(32_000);
/// Largest rate of a stream: more than any video call has.
const MOST: Rate = Rate::from_mbps(100);
/// Smallest rate of a stream.
const LEAST: Rate = Rate::from_bps(1_000);
/// Most frames per second.
const MOST_FRAMES: u64 = 240;
/// Rate at which SCReAM starts. Our choice, about what WebRTC starts with.
const START_RATE: Rate = Rate::from_bps(300_000);
/// Longest time between two keyframes.
const LONGEST_GROUP: Span = Span::from_secs(60);
/// Playout by default.
const PLAYOUT: Playout = Playout::Fixed(Span::from_millis(60));

/// A call over UDP, without congestion control but that of `adaptation`, or with `framing` over
/// QUIC. Without `audio` and
/// `video`, it has audio of 32 kbps.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Length of the call.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Rate of the audio, without headers, in frames of 20 ms. Without it, a call with `video` is
    /// silent.
    #[schemars(with = "Option<Rate>")]
    pub audio: Option<Spanned<Rate>>,
    /// Video.
    pub video: Option<CallVideo>,
    /// Directions with media.
    #[serde(default)]
    pub direction: CallDirection,
    /// When frames are played: this long after the smallest delay so far, or `"adaptive"`; 60 ms by
    /// default.
    #[schemars(with = "Option<Playout>")]
    pub playout: Option<Spanned<Playout>>,
    /// Whether the receiver conceals lost frames of audio, which `mos` depends on: that of G.711
    /// with concealment, or without.
    #[serde(default = "yes")]
    pub concealment: bool,
    /// Time from the start of the call from which the delays of frames count, `frame_delay_mean_ms`
    /// and those beside it; 0 s by default. Some tests leave out the start.
    #[schemars(with = "Option<Span>")]
    pub delays_from: Option<Spanned<Span>>,
    /// How QUIC carries the call; without it, UDP does.
    #[schemars(with = "Option<Framing>")]
    pub framing: Option<Spanned<Framing>>,
    /// Delay of a frame above the smallest after which the receiver stops the stream of its group
    /// (STOP_SENDING), with `stream-per-group`; never by default.
    #[schemars(with = "Option<Span>")]
    pub cancel_after: Option<Spanned<Span>>,
    /// How the rate of the video adapts to the path; not by default.
    #[schemars(with = "Option<CallAdaptation>")]
    pub adaptation: Option<Spanned<CallAdaptation>>,
    /// ECN field of the packets of media with `adaptation = "scream"`; `ect1` by default, whose
    /// marks are those of L4S.
    #[schemars(with = "Option<EcnField>")]
    pub ecn: Option<Spanned<EcnField>>,
}

/// How the rate of the video of a call adapts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallAdaptation {
    /// It does not.
    #[default]
    None,
    /// By the media that waits for the congestion control of QUIC, with `framing = "datagrams"`.
    Queue,
    /// By SCReAM V2, over UDP.
    Scream,
}

/// How a QUIC connection carries a call. Audio goes in datagrams in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Video too: its packets are not sent again.
    Datagrams,
    /// Each frame of the video on a stream of its own.
    StreamPerFrame,
    /// Each group of the video, a keyframe and those that depend on it, on a stream of its own.
    StreamPerGroup,
}

/// The video of a call: groups of a keyframe and of frames that depend on all before them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallVideo {
    /// Mean rate, without headers; with `adaptation`, the largest.
    #[schemars(with = "Rate")]
    pub rate: Spanned<Rate>,
    /// Smallest rate with `adaptation`; a tenth of `rate` by default.
    #[schemars(with = "Option<Rate>")]
    pub min_rate: Option<Spanned<Rate>>,
    /// Rate at the start with `adaptation`; by default 300 kbps within `min_rate` and `rate` for
    /// `scream`, and `rate` for `queue`.
    #[schemars(with = "Option<Rate>")]
    pub start_rate: Option<Spanned<Rate>>,
    /// Frames per second; 30 by default.
    #[schemars(with = "Option<u64>", range(min = 1, max = 240))]
    pub fps: Option<Spanned<u64>>,
    /// Time between two keyframes; 1 s by default.
    #[schemars(with = "Option<Span>")]
    pub keyframe_interval: Option<Spanned<Span>>,
    /// Size of a keyframe in sizes of other frames; 10 by default.
    #[schemars(with = "Option<u64>", range(min = 1, max = 100))]
    pub keyframe_size: Option<Spanned<u64>>,
    /// Coefficient of variation of the lognormal distribution of sizes; 0 by default.
    #[schemars(with = "Option<Ratio>")]
    pub size_variation: Option<Spanned<Ratio>>,
    /// Time over which the packets of a frame are spread, at most that between two frames; by
    /// default they are sent at once.
    #[schemars(with = "Option<Span>")]
    pub pacing: Option<Spanned<Span>>,
    /// Whether the receiver asks for a keyframe when a frame is lost or late.
    #[serde(default = "yes")]
    pub keyframe_request: bool,
}

/// The directions in which a call has media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallDirection {
    /// Both.
    #[default]
    Both,
    /// From the server to the client.
    Download,
    /// From the client to the server.
    Upload,
}

/// When frames are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Playout {
    /// `"60 ms"`: this long after the smallest delay so far.
    Fixed(Span),
    /// `"adaptive"`: adapted to earlier delays at the start of each second.
    Adaptive,
}

impl std::str::FromStr for Playout {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "adaptive" => Ok(Self::Adaptive),
            text => text
                .parse()
                .map(Self::Fixed)
                .map_err(|error| format!("{error}; or `adaptive` as playout")),
        }
    }
}

impl<'de> Deserialize<'de> for Playout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Playout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Playout".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let span = generator.subschema_for::<Span>();
        schemars::json_schema!({ "anyOf": [{ "enum": ["adaptive"] }, span] })
    }
}

const fn yes() -> bool {
    true
}

/// Returns an error if the rate of a stream is out of range.
fn rate(key: &str, rate: &Spanned<Rate>) -> Check {
    if (LEAST..=MOST).contains(rate.get_ref()) {
        return Ok(());
    }
    let message = format!("`{key}` of {rate} is out of range; allowed: {LEAST} to {MOST}");
    Err(Problem::new(rate.span(), message))
}

impl Call {
    /// The clocks that can run it, over UDP. The virtual one runs it over QUIC, too.
    pub(super) const CLOCKS: Clocks = Clocks::DatagramsOrQuic;

    pub(super) fn check(&self, limit: Span) -> Check {
        super::transfer::duration(&self.duration, limit)?;
        self.audio.as_ref().map_or(Ok(()), |audio| rate("audio", audio))?;
        self.video.as_ref().map_or(Ok(()), CallVideo::check)?;
        if let Some(from) = &self.delays_from
            && from.get_ref() >= self.duration.get_ref()
        {
            let message = format!(
                "no frame is captured after `delays_from` of {from}; allowed: less than the \
                 `duration`, {}",
                self.duration.get_ref()
            );
            return Err(Problem::new(from.span(), message));
        }
        self.check_framing()?;
        self.check_adaptation()
    }

    fn check_adaptation(&self) -> Check {
        let adaptation = self.adaptation();
        if let Some(ecn) = self.ecn.as_ref().filter(|_| adaptation != CallAdaptation::Scream) {
            let message = "nothing reacts to marks of this call; allowed: `ecn` with `adaptation = \
                           \"scream\"`";
            return Err(Problem::new(ecn.span(), message));
        }
        if let Some(video) = &self.video {
            video.check_adaptation(adaptation)?;
        }
        let Some(key) = &self.adaptation else { return Ok(()) };
        let message = match adaptation {
            CallAdaptation::None => return Ok(()),
            _ if self.video.is_none() => "audio has one rate; allowed: `adaptation` with `video`",
            CallAdaptation::Queue if self.framing() != Some(Framing::Datagrams) => {
                "`queue` follows the datagrams that wait for the congestion control of QUIC; \
                 allowed: `framing = \"datagrams\"`, or over UDP `adaptation = \"scream\"`"
            }
            CallAdaptation::Scream if self.framing.is_some() => {
                "SCReAM limits what is in flight itself, which QUIC does, too; allowed: no \
                 `framing`, so that UDP carries the call, or `adaptation = \"queue\"` with \
                 `framing = \"datagrams\"`"
            }
            _ => return Ok(()),
        };
        Err(Problem::new(key.span(), message))
    }

    /// Returns how the rate of its video adapts.
    pub fn adaptation(&self) -> CallAdaptation {
        self.adaptation.as_ref().map_or(CallAdaptation::None, |key| *key.get_ref())
    }

    /// Returns the ECN field of its packets of media over UDP.
    pub fn ecn(&self) -> EcnField {
        match (&self.ecn, self.adaptation()) {
            (Some(ecn), _) => *ecn.get_ref(),
            (None, CallAdaptation::Scream) => EcnField::Ect1,
            (None, _) => EcnField::NotEct,
        }
    }

    fn check_framing(&self) -> Check {
        if let (None, Some(framing)) = (&self.video, &self.framing)
            && *framing.get_ref() != Framing::Datagrams
        {
            let message = "streams carry video only, and this call has none; allowed: \
                           `framing = \"datagrams\"`, or `video`";
            return Err(Problem::new(framing.span(), message));
        }
        let Some(cancel) = &self.cancel_after else { return Ok(()) };
        if self.framing() != Some(Framing::StreamPerGroup) {
            let message = "`cancel_after` stops the streams of groups; allowed with `framing = \
                           \"stream-per-group\"`";
            return Err(Problem::new(cancel.span(), message));
        }
        if cancel.get_ref().is_zero() {
            let message = format!("`cancel_after` of {cancel} is too short; allowed: above 0 ms");
            return Err(Problem::new(cancel.span(), message));
        }
        Ok(())
    }

    /// Returns true if `other` differs from this call in its duration at most.
    pub(super) fn is_same_but_for_duration(&self, other: &Self) -> bool {
        *self == Self { duration: self.duration.clone(), ..other.clone() }
    }

    /// Returns how QUIC carries the call; `None` if UDP does.
    pub fn framing(&self) -> Option<Framing> {
        self.framing.as_ref().map(|framing| *framing.get_ref())
    }

    /// Returns the rate of the audio, if there is any.
    pub fn audio_rate(&self) -> Option<Rate> {
        let default = self.video.is_none().then_some(AUDIO);
        self.audio.as_ref().map(|audio| *audio.get_ref()).or(default)
    }

    /// Returns when frames are played.
    pub fn playout(&self) -> Playout {
        self.playout.as_ref().map_or(PLAYOUT, |playout| *playout.get_ref())
    }
}

impl CallVideo {
    fn check(&self) -> Check {
        rate("rate", &self.rate)?;
        self.fps.as_ref().map_or(Ok(()), |fps| limits::between("fps", fps, 1, MOST_FRAMES))?;
        let size = self.keyframe_size.as_ref();
        size.map_or(Ok(()), |size| limits::between("keyframe_size", size, 1, 100))?;
        let frame = Span::from_secs(1) / u64::from(self.fps());
        let within = |key: &str, span: Option<&Spanned<Span>>, low: Span, high: Span| match span {
            Some(span) if !(low..=high).contains(span.get_ref()) => {
                let message =
                    format!("`{key}` of {span} is out of range; allowed: {low} to {high}");
                Err(Problem::new(span.span(), message))
            }
            _ => Ok(()),
        };
        let interval = self.keyframe_interval.as_ref();
        within("keyframe_interval", interval, frame, LONGEST_GROUP)?;
        within("pacing", self.pacing.as_ref(), Span::ZERO, frame)
    }

    fn check_adaptation(&self, adaptation: CallAdaptation) -> Check {
        let keys = [("min_rate", &self.min_rate), ("start_rate", &self.start_rate)];
        if adaptation == CallAdaptation::None {
            let given = keys.into_iter().find_map(|(key, value)| Some((key, value.as_ref()?)));
            return given.map_or(Ok(()), |(key, value)| {
                let message = format!(
                    "`{key}` is for a rate that adapts; allowed: with `adaptation = \"queue\"` or \
                     `\"scream\"`"
                );
                Err(Problem::new(value.span(), message))
            });
        }
        let (least, most) = (self.min_rate(), *self.rate.get_ref());
        for (key, value, low) in
            [("min_rate", &self.min_rate, LEAST), ("start_rate", &self.start_rate, least)]
        {
            if let Some(value) = value
                && !(low..=most).contains(value.get_ref())
            {
                let message =
                    format!("`{key}` of {value} is out of range; allowed: {low} to {most}");
                return Err(Problem::new(value.span(), message));
            }
        }
        match &self.pacing {
            Some(pacing) if adaptation == CallAdaptation::Scream && !pacing.get_ref().is_zero() => {
                let message = "SCReAM paces packets itself; allowed: no `pacing`, or another \
                               `adaptation`";
                Err(Problem::new(pacing.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the smallest rate of a video that adapts.
    pub fn min_rate(&self) -> Rate {
        let tenth = Rate::from_bps(self.rate.get_ref().as_bps() / 10);
        self.min_rate.as_ref().map_or(tenth, |rate| *rate.get_ref())
    }

    /// Returns the rate at the start of a video that adapts.
    pub fn start_rate(&self, adaptation: CallAdaptation) -> Rate {
        let most = *self.rate.get_ref();
        match (&self.start_rate, adaptation) {
            (Some(rate), _) => *rate.get_ref(),
            (None, CallAdaptation::Scream) => START_RATE.clamp(self.min_rate(), most),
            (None, _) => most,
        }
    }

    /// Returns the frames per second.
    pub fn fps(&self) -> u32 {
        self.fps.as_ref().map_or(30, |fps| *fps.get_ref() as u32)
    }

    /// Returns the frames of a group, the keyframe included.
    pub fn group(&self) -> u32 {
        let interval = self.keyframe_interval.as_ref().map(|interval| *interval.get_ref());
        let seconds = interval.unwrap_or(Span::from_secs(1)).as_secs_f64();
        (seconds * f64::from(self.fps())).round().max(1.0) as u32
    }

    /// Returns the size of a keyframe in sizes of other frames.
    pub fn keyframe_size(&self) -> u32 {
        self.keyframe_size.as_ref().map_or(10, |size| *size.get_ref() as u32)
    }

    /// Returns the coefficient of variation of sizes.
    pub fn size_variation(&self) -> Ratio {
        self.size_variation.as_ref().map_or(Ratio::ZERO, |variation| *variation.get_ref())
    }

    /// Returns the time over which a frame is sent.
    pub fn pacing(&self) -> Span {
        self.pacing.as_ref().map_or(Span::ZERO, |pacing| *pacing.get_ref())
    }
}

impl Kind for Call {
    fn key(&self) -> &'static str {
        "call"
    }

    fn clocks(&self) -> Clocks {
        match self.framing {
            Some(_) => Clocks::VirtualQuic,
            None => Self::CLOCKS,
        }
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let direction = match self.direction {
            CallDirection::Both | CallDirection::Download => Direction::Download,
            CallDirection::Upload => Direction::Upload,
        };
        Transfer { direction, objects: Vec::new(), duration: Some(*self.duration.get_ref()) }
    }

    fn suits_users(&self) -> bool {
        true
    }

    fn has_size(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Call, String> {
        let call: Call = toml::from_str(text).map_err(|error| error.to_string())?;
        call.check(Span::from_secs(60)).map_err(|problem| problem.message)?;
        Ok(call)
    }

    #[test]
    fn a_call_without_media_has_audio() {
        let call = check("duration = \"60 s\"").unwrap();
        assert_eq!((call.audio_rate(), call.playout()), (Some(AUDIO), PLAYOUT));
        let silent = check("duration = \"60 s\"\nvideo.rate = \"1 Mbps\"").unwrap();
        assert_eq!(silent.audio_rate(), None);
        let video = silent.video.unwrap();
        assert_eq!((video.fps(), video.group(), video.keyframe_size()), (30, 30, 10));
    }

    /// Returns the keys of a call with an adaptation, other keys, and keys of its video.
    fn adapting(adaptation: &str, keys: &str, of_video: &str) -> String {
        let comma = if of_video.is_empty() { "" } else { ", " };
        let video = format!("video = {{ rate = \"1 Mbps\"{comma}{of_video} }}");
        format!("adaptation = \"{adaptation}\"\n{keys}\n{video}")
    }

    #[test]
    fn a_call_that_adapts_has_limits_and_a_start() {
        let read = |adaptation, keys| {
            check(&format!("duration = \"60 s\"\n{}", adapting(adaptation, keys, ""))).unwrap()
        };
        let call = read("scream", "");
        let video = call.video.as_ref().unwrap();
        assert_eq!(video.min_rate(), Rate::from_bps(100_000));
        assert_eq!(video.start_rate(call.adaptation()), START_RATE);
        assert_eq!(call.ecn(), EcnField::Ect1);
        let call = read("queue", "framing = \"datagrams\"");
        assert_eq!(call.video.as_ref().unwrap().start_rate(call.adaptation()), Rate::from_mbps(1));
        assert_eq!((call.ecn(), read("none", "").ecn()), (EcnField::NotEct, EcnField::NotEct));
    }

    #[test]
    fn values_out_of_range_name_what_is_allowed() {
        let cases = [
            ("audio = \"10 bps\"", "1 kbps to 100 Mbps"),
            ("video = { rate = \"1 Mbps\", fps = 0 }", "1 to 240"),
            ("video = { rate = \"1 Mbps\", pacing = \"40 ms\" }", "0 ns to 33.333333 ms"),
            ("video = { rate = \"1 Mbps\", keyframe_interval = \"2 min\" }", "to 1 min"),
            ("video = { rate = \"1 Mbps\", keyframe_size = 1000 }", "1 to 100"),
            ("playout = \"soon\"", "`adaptive`"),
            ("framing = \"stream-per-frame\"", "or `video`"),
            ("framing = \"datagrams\"\ncancel_after = \"1 s\"", "`framing = \"stream-per-group\"`"),
            ("delays_from = \"60 s\"", "less than the `duration`, 1 min"),
            ("cancel_after = \"1 s\"", "`framing = \"stream-per-group\"`"),
            ("adaptation = \"gcc\"", "`scream`"),
            ("adaptation = \"scream\"", "with `video`"),
            (&adapting("scream", "framing = \"datagrams\"", ""), "`adaptation = \"queue\"`"),
            (&adapting("queue", "", ""), "`framing = \"datagrams\"`"),
            (&adapting("queue", "framing = \"stream-per-frame\"", ""), "\"scream\"`"),
            (&adapting("none", "ecn = \"ect0\"", ""), "`adaptation = \"scream\"`"),
            (&adapting("none", "", "min_rate = \"1 kbps\""), "\"queue\"` or `\"scream\"`"),
            (&adapting("scream", "", "min_rate = \"2 Mbps\""), "1 kbps to 1 Mbps"),
            (&adapting("scream", "", "start_rate = \"50 kbps\""), "100 kbps to 1 Mbps"),
            (&adapting("scream", "", "pacing = \"5 ms\""), "no `pacing`"),
        ];
        for (keys, allowed) in cases {
            let error = check(&format!("duration = \"60 s\"\n{keys}")).unwrap_err();
            assert!(error.contains(allowed), "{keys}: {error}");
        }
        assert!(check("duration = \"61 s\"").unwrap_err().contains("time_limit"));
    }
}
