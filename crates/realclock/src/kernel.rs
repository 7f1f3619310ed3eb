//! What the kernel's TCP can do of a scenario's congestion control.

use bentpipe_quic::congestion::CongestionConfig;

/// Controllers of Bentpipe, each with the kernel's name for it.
const CONTROLLERS: [(&str, &str); 4] =
    [("newreno", "reno"), ("cubic-linux", "cubic"), ("cubic", "cubic"), ("bbr1", "bbr")];
/// Controller parameters that may be set, with the value that the kernel uses.
const PARAMETERS: [(&str, &str, f64); 2] =
    [("cubic", "first_growth", 0.05), ("bbr1", "probe_rtt_rounds", 0.0)];

/// Returns the kernel's name of a controller.
pub(super) fn kernel_name(name: &str) -> &str {
    CONTROLLERS.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, kernel)| kernel)
}

/// Returns what a flow with this controller gets, as results name it.
pub(super) fn label(name: &str) -> String {
    let kernel = kernel_name(name);
    let start = if kernel == "cubic" { " + hystart start" } else { "" };
    format!("{kernel} of the kernel{start}")
}

/// Checks that the kernel has the controller that `key` names.
pub(super) fn kernel_controller(key: &str, name: &str) -> Result<(), String> {
    if CONTROLLERS.iter().any(|(ours, _)| *ours == name) {
        return Ok(());
    }
    Err(format!(
        "`{key}`: the kernel has no `{name}`; allowed with --clock real: newreno (reno in the \
            kernel), cubic-linux or cubic (cubic in the kernel), bbr1 (bbr in the kernel)"
    ))
}

/// Checks that the kernel can do what the keys `congestion`, `slow_start` and `parameters` say.
/// `table` is the table that they are in, with a dot.
pub(super) fn kernel_congestion(table: &str, congestion: &CongestionConfig) -> Result<(), String> {
    let name = congestion.controller.as_str();
    kernel_controller(&format!("{table}congestion"), name)?;
    let start = congestion.slow_start.as_str();
    // The kernel's CUBIC uses HyStart, which cannot be changed in a namespace. Its other
    // controllers leave slow start at the first loss.
    let is_cubic = kernel_name(name) == "cubic";
    let starts: &[&str] = if is_cubic { &["auto", "hystart"] } else { &["auto", "standard"] };
    if !starts.contains(&start) {
        let allowed =
            starts.iter().map(|start| format!("`{start}`")).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "`{table}slow_start`: the kernel's {name} does not have `{start}`; allowed with \
                --clock real: {allowed}"
        ));
    }
    // Presets set parameters of all components, of which the others have no effect.
    let used = [name, start, if is_cubic { "hystart" } else { "standard" }];
    let parameters = congestion.parameters.iter().filter(|(part, _)| used.contains(&part.as_str()));
    for (part, key, value) in
        parameters.flat_map(|(part, all)| all.iter().map(move |(key, value)| (part, key, *value)))
    {
        if !PARAMETERS.contains(&(part, key, value)) {
            return Err(format!(
                "`{table}parameters`: {part}.{key} = {value} cannot be set: parameters of the \
                    kernel's controllers are global to the host; allowed with --clock real: \
                    cubic.first_growth = 0.05 and bbr1.probe_rtt_rounds = 0, the values of the \
                    kernel"
            ));
        }
    }
    Ok(())
}
