//! CZML, the format of CesiumJS and other globes: satellites, stations, and the flows' routes over
//! time.
//!
//! A document starts with a packet with the clock. One packet follows for each satellite (sampled
//! Earth-fixed positions), each station, and each route of each flow (a line through its nodes
//! that is visible while the route is valid).
//! <https://github.com/AnalyticalGraphicsInc/czml-writer/wiki/CZML-Structure>

use crate::constellation::{ConstellationView, Route};
use bentpipe_orbit::{Ecef, Geodetic};
use bentpipe_units::{Epoch, Span};
use serde_json::{Value, json};

/// Colours of the flows' routes, which colour-blind readers can distinguish (Okabe and Ito 2008).
const COLOURS: [[u8; 4]; 7] = [
    [230, 159, 0, 255],
    [86, 180, 233, 255],
    [0, 158, 115, 255],
    [240, 228, 66, 255],
    [0, 114, 178, 255],
    [213, 94, 0, 255],
    [204, 121, 167, 255],
];

/// Creates the document of `constellation`, with positions in `blob` and the routes of one run,
/// from the start of the run to `end`.
pub(crate) fn document(
    name: &str,
    constellation: &ConstellationView,
    routes: &[Route],
    end: Span,
    blob: &[u8],
) -> String {
    let begins: Epoch = constellation.begins.parse().unwrap_or_default();
    let end = end.max(Span::from_secs(1));
    let whole = interval(begins, 0.0, end.as_secs_f64());
    let mut packets = vec![json!({
        "id": "document",
        "name": name,
        "version": "1.0",
        "clock": {
            "interval": whole,
            "currentTime": moment(begins, 0.0),
            "multiplier": 1,
            "range": "LOOP_STOP",
        },
    })];
    packets.extend(
        (0..constellation.satellites.names.len())
            .map(|index| satellite(constellation, index, blob)),
    );
    packets.extend(constellation.stations.iter().enumerate().map(|(index, station)| {
        let place = Geodetic {
            latitude_deg: station.latitude_deg,
            longitude_deg: station.longitude_deg,
            altitude_m: station.altitude_m,
        };
        json!({
            "id": id(constellation, constellation.satellites.names.len() + index),
            "name": station.name,
            "position": { "referenceFrame": "FIXED", "cartesian": metres(place.to_ecef()) },
            "point": { "pixelSize": 8, "color": { "rgba": [255, 255, 255, 255] } },
            "label": {
                "text": station.name,
                "font": "12pt sans-serif",
                "pixelOffset": { "cartesian2": [0, -16] },
            },
        })
    }));
    packets.extend(lines(constellation, routes, begins, end.as_secs_f64()));
    serde_json::to_string(&packets).unwrap_or_default() + "\n"
}

fn id(constellation: &ConstellationView, node: usize) -> String {
    let satellites = constellation.satellites.names.len();
    if node < satellites {
        format!("satellite-{node}")
    } else {
        format!("station-{}", node - satellites)
    }
}

fn moment(begins: Epoch, seconds: f64) -> String {
    (begins + Span::from_secs_f64(seconds.max(0.0))).to_string()
}

fn interval(begins: Epoch, from: f64, to: f64) -> String {
    format!("{}/{}", moment(begins, from), moment(begins, to))
}

/// Rounds a position to metres, the precision of the model.
fn metres(place: Ecef) -> [i64; 3] {
    [place.x, place.y, place.z].map(|metres| metres.round() as i64)
}

fn satellite(constellation: &ConstellationView, index: usize, blob: &[u8]) -> Value {
    let positions = &constellation.satellites.positions;
    let count = constellation.satellites.names.len();
    let mut samples: Vec<Value> = Vec::new();
    for time in 0..positions.times {
        let at = positions.offset + (time * count + index) * 12;
        let Some(bytes) = blob.get(at..at + 12) else { break };
        let value = |n: usize| {
            f64::from(f32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]))
        };
        let place = Geodetic {
            latitude_deg: value(0),
            longitude_deg: value(4),
            altitude_m: value(8) * 1e3,
        };
        samples.push(json!(time as f64 * positions.step_s));
        samples.extend(metres(place.to_ecef()).map(Value::from));
    }
    let position = if positions.times == 1 {
        json!({ "referenceFrame": "FIXED", "cartesian": samples.get(1..).unwrap_or_default() })
    } else {
        json!({
            "referenceFrame": "FIXED",
            "epoch": constellation.begins,
            "interpolationAlgorithm": "LAGRANGE",
            "interpolationDegree": 5.min(positions.times - 1),
            "cartesian": samples,
        })
    };
    json!({
        "id": id(constellation, index),
        "name": constellation.satellites.names[index],
        "position": position,
        "point": { "pixelSize": 3, "color": { "rgba": [160, 160, 160, 255] } },
    })
}

/// Returns one packet for each route, visible until the flow's next route.
fn lines(
    constellation: &ConstellationView,
    routes: &[Route],
    begins: Epoch,
    end: f64,
) -> Vec<Value> {
    let mut flows: Vec<&str> = Vec::new();
    for route in routes {
        if !flows.contains(&route.flow.as_str()) {
            flows.push(&route.flow);
        }
    }
    let mut packets = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let own: Vec<&Route> = routes.iter().filter(|route| route.flow == *flow).collect();
        for (index, route) in own.iter().enumerate() {
            let until = own.get(index + 1).map_or(end, |next| next.t_s);
            if route.nodes.is_empty() || until <= route.t_s {
                continue;
            }
            let colour = COLOURS[number % COLOURS.len()];
            let nodes: Vec<String> = route
                .nodes
                .iter()
                .map(|node| format!("{}#position", id(constellation, *node as usize)))
                .collect();
            packets.push(json!({
                "id": format!("route-{number}-{index}"),
                "name": flow,
                "availability": interval(begins, route.t_s, until),
                "polyline": {
                    "positions": { "references": nodes },
                    "arcType": "NONE",
                    "width": 3,
                    "material": { "solidColor": { "color": { "rgba": colour } } },
                },
            }));
        }
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constellation::{Positions, Satellites, StationPlace};

    fn constellation() -> (ConstellationView, Vec<u8>) {
        let mut blob = Vec::new();
        for value in [0f32, 0.0, 550.0, 0.0, 90.0, 550.0, 1.0, 0.0, 550.0, 1.0, 90.0, 550.0] {
            blob.extend(value.to_le_bytes());
        }
        let station = |name: &str| StationPlace {
            name: name.to_owned(),
            latitude_deg: 90.0,
            longitude_deg: 0.0,
            altitude_m: 0.0,
        };
        let constellation = ConstellationView {
            begins: "2000-01-01T00:00:00Z".to_owned(),
            satellites: Satellites {
                names: vec!["a".to_owned(), "b".to_owned()],
                shell: vec![0, 0],
                positions: Positions { offset: 0, times: 2, step_s: 5.0 },
            },
            stations: vec![station("here"), station("there")],
            isls: vec![(0, 1)],
        };
        (constellation, blob)
    }

    #[test]
    fn the_document_has_a_clock_moving_satellites_stations_and_temporary_routes() {
        let (constellation, blob) = constellation();
        let route =
            |t_s, nodes: &[u32]| Route { flow: "main".to_owned(), t_s, nodes: nodes.to_vec() };
        let routes = [route(0.0, &[2, 0, 3]), route(1.25, &[]), route(2.0, &[2, 1, 3])];
        let text = document("test", &constellation, &routes, Span::from_secs(5), &blob);
        let packets: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(packets[0]["id"], "document");
        assert_eq!(packets[0]["clock"]["interval"], "2000-01-01T00:00:00Z/2000-01-01T00:00:05Z");
        // WGS84: 6,378,137 m to the equator, 6,356,752 m to the pole.
        let moving = &packets[1]["position"];
        assert_eq!(
            (&moving["referenceFrame"], &moving["epoch"]),
            (&json!("FIXED"), &json!("2000-01-01T00:00:00Z"))
        );
        let samples = moving["cartesian"].as_array().unwrap();
        assert_eq!(
            (samples.len(), &samples[..4]),
            (8, &[json!(0.0), json!(6_928_137), json!(0), json!(0)][..])
        );
        assert_eq!(packets[3]["position"]["cartesian"], json!([0, 0, 6_356_752]));
        let ids: Vec<&str> = packets.iter().filter_map(|packet| packet["id"].as_str()).collect();
        assert_eq!(
            ids,
            [
                "document",
                "satellite-0",
                "satellite-1",
                "station-0",
                "station-1",
                "route-0-0",
                "route-0-2"
            ]
        );
        assert_eq!(packets[5]["availability"], "2000-01-01T00:00:00Z/2000-01-01T00:00:01.250Z");
        let references =
            json!(["station-0#position", "satellite-1#position", "station-1#position"]);
        assert_eq!(packets[6]["polyline"]["positions"]["references"], references);
        for packet in &packets[5..] {
            for reference in packet["polyline"]["positions"]["references"].as_array().unwrap() {
                assert!(ids.contains(&reference.as_str().unwrap().trim_end_matches("#position")));
            }
        }
    }

    #[test]
    fn a_static_constellation_has_one_position_for_all_times() {
        let (mut constellation, blob) = constellation();
        constellation.satellites.positions.times = 1;
        let packets: Vec<Value> =
            serde_json::from_str(&document("t", &constellation, &[], Span::ZERO, &blob)).unwrap();
        assert_eq!(
            packets[1]["position"],
            json!({ "referenceFrame": "FIXED", "cartesian": [6_928_137, 0, 0] })
        );
    }
}
