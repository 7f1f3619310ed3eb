//! Trees of TOML values with positions.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// A table with the position of each key and value.
pub type Tree<'i> = DeTable<'i>;
/// A value with its position.
pub type Node<'i> = Spanned<DeValue<'i>>;

/// Merges the entries of `over` into `base`. Values other than tables are replaced.
pub fn merge<'i>(base: &mut Tree<'i>, over: &Tree<'i>) {
    for (key, value) in over {
        if let (Some(DeValue::Table(inner)), DeValue::Table(table)) =
            (base.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref())
        {
            merge(inner, table);
            continue;
        }
        // The key is replaced too, so that an error about it points at this layer.
        base.remove(key.get_ref().as_ref());
        base.insert(key.clone(), value.clone());
    }
}
