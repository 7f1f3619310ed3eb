//! Variants with controllers of their own, and repeats.

use super::{Draft, Random, congestion};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for number in 0..random.whole(1, 2) {
        let mut variant = congestion::keys(random);
        variant.insert("name".to_owned(), Value::from(format!("variant-{number}")));
        draft.variants.push(variant);
    }
    draft.head.insert("repeat".to_owned(), Value::from(random.whole(1, 2) as i64));
}
