//! Several clients of one satellite, with links that they share or of their own.

use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let terminals = random.whole(2, 4) as i64;
    draft.path.insert("terminals".to_owned(), Value::from(terminals));
    draft.path.insert("shared".to_owned(), Value::from(random.chance(0.6)));
}
