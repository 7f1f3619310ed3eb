//! Parsers for values of options.

use super::count::count;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_units::Span;
use std::net::SocketAddr;
use std::num::NonZeroUsize;

/// Parses a number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    count(text).map(NonZeroUsize::get)
}

/// Parses an address with a port.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "allowed: an address and a port, such as 127.0.0.1:4433 or [::1]:4433".to_owned()
    })
}

/// Parses a time span longer than zero.
pub fn nonzero_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error| format!("{error}"))?;
    if time.is_zero() { Err("allowed: more than 0 s".to_owned()) } else { Ok(time) }
}

/// Value of a parameter of a congestion controller, a slow start or resumption.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterValue {
    /// What has the parameter, such as `cubic`.
    pub component: String,
    /// Name of the parameter.
    pub key: String,
    /// The value, in the parameter's unit.
    pub value: f64,
}

/// Parses `cubic.beta=0.7`, and checks that there is such a parameter and that it may have this
/// value.
pub fn parameter(text: &str) -> Result<ParameterValue, String> {
    let form = || "allowed: NAME.KEY=NUMBER, such as long-path.first_flight=60".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(form)?;
    let (component, key) = name.trim().split_once('.').ok_or_else(form)?;
    let value: f64 = value.trim().parse().map_err(|_| form())?;
    let one = ParameterValue { component: component.to_owned(), key: key.to_owned(), value };
    let mut config = CongestionConfig::default();
    set_parameters(&mut config, std::slice::from_ref(&one));
    config.factory().map_err(|error| error.to_string())?;
    Ok(one)
}

/// Sets parameters, the later one of the same name last.
pub fn set_parameters(config: &mut CongestionConfig, values: &[ParameterValue]) {
    for ParameterValue { component, key, value } in values {
        config.parameters.entry(component.clone()).or_default().insert(key.clone(), *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_a_component_a_key_and_a_number() {
        let parsed = parameter("long-path.first_flight = 60");
        let (component, key) = ("long-path".to_owned(), "first_flight".to_owned());
        assert_eq!(parsed, Ok(ParameterValue { component, key, value: 60.0 }));
        for text in ["cubic", "cubic.beta", "beta=0.7", "cubic.beta=half"] {
            assert!(parameter(text).unwrap_err().contains("NAME.KEY=NUMBER"), "{text}");
        }
    }

    #[test]
    fn unknown_parameters_and_values_out_of_range_are_refused_with_what_is_allowed() {
        assert!(parameter("qubic.beta=0.7").unwrap_err().contains("cubic"));
        assert!(parameter("cubic.alpha=0.7").unwrap_err().contains("beta"));
        assert!(parameter("cubic.beta=7").unwrap_err().contains("0.95"));
        assert!(parameter("cubic.beta=NaN").is_err());
    }

    #[test]
    fn the_last_value_of_a_parameter_counts() {
        let mut config = CongestionConfig::default();
        let values = ["cubic.beta=0.6", "cubic.c=1", "cubic.beta=0.8"].map(parameter);
        set_parameters(&mut config, &values.map(Result::unwrap));
        assert_eq!(config.parameters["cubic"]["beta"].to_bits(), 0.8_f64.to_bits());
        assert_eq!(config.parameters["cubic"].len(), 2);
    }
}
