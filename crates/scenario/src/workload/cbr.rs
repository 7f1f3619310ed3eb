//! `cbr`: UDP datagrams at a constant rate, or in bursts, without congestion control.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::Transfer;
use crate::error::Problem;
use bentpipe_link::Ecn;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Shortest mean duration of a burst or a pause.
const SHORTEST_BURST: Span = Span::from_millis(1);

/// UDP datagrams at a constant rate. With `on` and `off`, bursts and pauses alternate, with
/// exponentially distributed durations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Rate of the IP packets while sending.
    #[schemars(with = "Rate")]
    pub rate: Spanned<Rate>,
    /// Duration of the workload.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Size of the IP packets; `path.mtu` by default.
    #[schemars(with = "Option<Bytes>")]
    pub packet: Option<Spanned<Bytes>>,
    /// Mean duration of a burst. Without `on` and `off`, the sender never pauses.
    #[schemars(with = "Option<Span>")]
    pub on: Option<Spanned<Span>>,
    /// Mean duration of a pause between bursts.
    #[schemars(with = "Option<Span>")]
    pub off: Option<Spanned<Span>>,
    /// ECN field of the packets, which queues may mark unless it is `not-ect`, the default.
    #[serde(default)]
    pub ecn: EcnField,
    /// Direction of the data; download by default.
    #[serde(default)]
    pub direction: Direction,
}

/// ECN field of packets that are sent (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// Not ECN-capable: dropped rather than marked.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1), which RFC 9331 assigns to L4S.
    Ect1,
}

impl From<EcnField> for Ecn {
    fn from(field: EcnField) -> Self {
        match field {
            EcnField::NotEct => Self::NotEct,
            EcnField::Ect0 => Self::Ect0,
            EcnField::Ect1 => Self::Ect1,
        }
    }
}

impl Cbr {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::Datagrams;

    pub(super) fn check(&self, limit: Span) -> Result<(), Problem> {
        super::transfer::duration(&self.duration, limit)?;
        super::transfer::packet(self.packet.as_ref())?;
        let rate = &self.rate;
        if rate.get_ref().is_zero() {
            return Err(Problem::new(
                rate.span(),
                format!("a `rate` of {rate} sends nothing; allowed: above zero"),
            ));
        }
        let alone = |key: &str, other: &str, span: &Spanned<Span>| {
            let message = format!("`{key}` needs `{other}`; allowed: both or neither");
            Err(Problem::new(span.span(), message))
        };
        match (&self.on, &self.off) {
            (None, None) => Ok(()),
            (Some(on), None) => alone("on", "off", on),
            (None, Some(off)) => alone("off", "on", off),
            (Some(on), Some(off)) => {
                [("on", on), ("off", off)].into_iter().try_for_each(|(key, span)| {
                    if *span.get_ref() >= SHORTEST_BURST {
                        return Ok(());
                    }
                    let message = format!(
                        "`{key}` of {span} is too short; allowed: {SHORTEST_BURST} or longer"
                    );
                    Err(Problem::new(span.span(), message))
                })
            }
        }
    }

    /// Returns the mean durations of bursts and pauses.
    pub fn bursts(&self) -> Option<(Span, Span)> {
        self.on.as_ref().zip(self.off.as_ref()).map(|(on, off)| (*on.get_ref(), *off.get_ref()))
    }
}

impl Kind for Cbr {
    fn key(&self) -> &'static str {
        "cbr"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        Transfer {
            direction: self.direction,
            objects: Vec::new(),
            duration: Some(*self.duration.get_ref()),
        }
    }
}
