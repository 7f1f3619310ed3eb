#!/usr/bin/env python3
"""Generates crates/orbit/tests/vectors/hypatia.csv with the generator of the Hypatia study.

hypatia-vectors.py DIRECTORY, a checkout of https://github.com/snkas/hypatia (0ac531c was used).
Needs ephem, networkx, astropy, geopy and numpy.

RTTs of city pairs over 200 s, every 5 s: satellites, inter-satellite links, positions, distances
and the limit of ground links are computed by the study's own code (`satgenpy`, and the constants
of `paper/satellite_networks_state/main_*.py`); the shortest paths by networkx, as in the study.
"""

import importlib
import pathlib
import re
import sys
import tempfile
import types

import networkx
from astropy import units

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "crates/orbit/tests/vectors"
LIGHT = 299_792_458.0
SHELLS = {
    "kuiper-630": "main_kuiper_630",
    "starlink-550": "main_starlink_550",
    "telesat-1015": "main_telesat_1015",
}
PAIRS = [
    ("Rio de Janeiro", "Saint Petersburg"),
    ("Istanbul", "Nairobi"),
    ("Manila", "Dalian"),
    ("Paris", "Luanda"),
    ("Paris", "Moscow"),
    ("Lima", "Tokyo"),
    ("Lagos", "Madrid"),
    ("Sydney", "Delhi"),
    ("Chicago", "Zhengzhou"),
]
SECONDS = range(0, 201, 5)


def modules(checkout):
    """Imports the parts of satgen that are used. Its own __init__ would need statsmodels."""
    package = types.ModuleType("satgen")
    package.__path__ = [str(checkout / "satgenpy/satgen")]
    sys.modules["satgen"] = package
    sys.path.insert(0, str(checkout / "paper/satellite_networks_state"))
    sys.modules["main_helper"] = types.ModuleType("main_helper")
    # Each main_*.py passes its constants to this class as it is imported.
    sys.modules["main_helper"].MainHelper = lambda *arguments: arguments
    names = ("tles.generate_tles_from_scratch", "tles.read_tles", "isls.generate_plus_grid_isls")
    names += ("distance_tools.distance_tools", "ground_stations.read_ground_stations")
    found = {}
    for name in names:
        found.update(vars(importlib.import_module(f"satgen.{name}")))
    return types.SimpleNamespace(**found)


def stations(checkout, satgen):
    """Returns the study's ground stations by our names."""
    data = checkout / "paper/satellite_networks_state/input_data"
    name = "ground_stations_cities_sorted_by_estimated_2025_pop_top_100.basic.txt"
    listed = satgen.read_ground_stations_basic(data / name)
    by_name = {}
    for city in sorted({city for pair in PAIRS for city in pair}):
        # The study writes `Sankt-Peterburg-(Saint-Petersburg)` and `Moskva-(Moscow)`.
        written = city.replace(" ", "-")
        matching = [one for one in listed if written in re.split("[()]", one["name"])]
        by_name[city] = matching[0] if matching else sys.exit(f"{city} is not in {name}")
    return by_name


def rtts(shell, by_name, satgen):
    """Yields a row for each time and pair."""
    constants = vars(importlib.import_module(SHELLS[shell]))
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "tles.txt"
        satgen.generate_tles_from_scratch_manual(
            file,
            constants["NICE_NAME"],
            constants["NUM_ORBS"],
            constants["NUM_SATS_PER_ORB"],
            constants["PHASE_DIFF"],
            constants["INCLINATION_DEGREE"],
            constants["ECCENTRICITY"],
            constants["ARG_OF_PERIGEE_DEGREE"],
            constants["MEAN_MOTION_REV_PER_DAY"],
        )
        read = satgen.read_tles(file)
        isls = satgen.generate_plus_grid_isls(
            pathlib.Path(directory) / "isls.txt",
            constants["NUM_ORBS"],
            constants["NUM_SATS_PER_ORB"],
            isl_shift=0,
        )
    satellites, epoch = read["satellites"], read["epoch"]
    limit_m = constants["MAX_GSL_LENGTH_M"]
    print(f"{shell}: ground links up to {limit_m / 1000:.2f} km")
    for seconds in SECONDS:
        now = str(epoch + seconds * units.s)
        space = networkx.Graph()
        for a, b in isls:
            length = satgen.distance_m_between_satellites(
                satellites[a], satellites[b], str(epoch), now
            )
            space.add_edge(a, b, weight=length)
        reach = {}
        for city, station in by_name.items():
            lengths = (
                satgen.distance_m_ground_station_to_satellite(station, one, str(epoch), now)
                for one in satellites
            )
            reach[city] = {s: length for s, length in enumerate(lengths) if length <= limit_m}
        for pair in PAIRS:
            graph = space.copy()
            for city in pair:
                graph.add_node(city)
                graph.add_weighted_edges_from((city, s, m) for s, m in reach[city].items())
            try:
                length = networkx.dijkstra_path_length(graph, *pair)
                rtt = f"{2000 * length / LIGHT:.4f}"
            except networkx.NetworkXNoPath:
                rtt = "none"
            yield f"{shell},{pair[0]},{pair[1]},{seconds},{rtt}"


def main():
    checkout = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    satgen = modules(checkout)
    by_name = stations(checkout, satgen)
    rows = [row for shell in SHELLS for row in rtts(shell, by_name, satgen)]
    head = "# Made by tools/peers/hypatia-vectors.py with satgenpy of snkas/hypatia.\n"
    text = head + "constellation,from,to,seconds,rtt_ms\n" + "".join(row + "\n" for row in rows)
    (VECTORS / "hypatia.csv").write_text(text)
    print(f"hypatia.csv: {len(rows)} lines")


if __name__ == "__main__":
    main()
