//! Presets of transport keys: the layer below `[defaults]`.

use super::protocol::Protocol;
use super::transport::PresetName;
use super::tree::Tree;
use bentpipe_quic::congestion::config::documented_parameters;
use std::sync::LazyLock;
use toml::de::{DeTable, DeValue};

/// The presets of the file, and the parameters of `draft`.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut text = include_str!("presets.toml").to_owned();
    for section in ["quic", "tcp"] {
        for (component, parameters) in documented_parameters() {
            text.push_str(&format!("\n[draft.{section}.parameters.{component}]\n"));
            for (name, value) in parameters {
                text.push_str(&format!("{name} = {value:?}\n"));
            }
        }
    }
    text
});

/// Returns the keys that `preset` sets for `protocol`.
///
/// Their positions belong to another text, so errors must not point at them. A test reads every
/// preset to prevent such errors.
pub(crate) fn layer(preset: PresetName, protocol: Protocol) -> Tree<'static> {
    static PRESETS: LazyLock<Option<Tree<'static>>> =
        LazyLock::new(|| DeTable::parse(&TEXT).ok().map(|table| table.into_inner()));
    let section = match protocol {
        Protocol::Quic(_) => "quic",
        Protocol::Tcp(_) => "tcp",
        Protocol::Datagrams | Protocol::External => return Tree::new(),
    };
    let found = PRESETS.as_ref().and_then(|presets| {
        let DeValue::Table(preset) = presets.get(preset.as_str())?.get_ref() else { return None };
        let DeValue::Table(keys) = preset.get(section)?.get_ref() else { return None };
        Some(keys.clone())
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section;
    use crate::transport::Transport;
    use bentpipe_quic::Http;
    use bentpipe_tcp::http::Version;

    #[test]
    fn draft_has_the_parameters_of_documents() {
        for protocol in [Protocol::Quic(Http::H3), Protocol::Tcp(Version::H2)] {
            let mut keys = layer(PresetName::Draft, protocol);
            let read: Transport = section::take(&mut keys, 0..0).unwrap();
            assert_eq!(read.parameters.unwrap().into_inner(), documented_parameters());
        }
    }

    #[test]
    fn every_preset_can_be_read_for_each_transport() {
        let all = [PresetName::Bentpipe, PresetName::Rfc, PresetName::Draft, PresetName::DeepSpace];
        for preset in all {
            for protocol in [Protocol::Quic(Http::H3), Protocol::Tcp(Version::H2)] {
                let mut keys = layer(preset, protocol);
                let read: Transport = section::take(&mut keys, 0..0).unwrap();
                assert!(keys.is_empty(), "{preset:?}, {protocol:?}: {keys:?}");
                assert!(read.resume.is_some() || protocol == Protocol::Tcp(Version::H2));
            }
        }
    }
}
