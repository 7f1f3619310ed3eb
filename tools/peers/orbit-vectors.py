#!/usr/bin/env python3
"""Generates crates/orbit/tests/vectors with an implementation that shares no code with ours.

Needs satkit (0.24.1 was used), numpy and Earth orientation data: SATKIT_DATA names a directory with
finals2000A.all (IERS rapid service). The last final value of the copy behind the committed vectors
is of 2020-12-02, and its predictions end on 2021-12-11. For later times satkit keeps the last
value.

positions.csv   positions of every satellite of elements.txt over a day: SGP4 (WGS72, improved
                mode), TEME to ITRF with IAU 1982 sidereal time of UT1 and polar motion
sightings.csv   satellites of two generated shells above the minimum elevation of each city, in
                satkit's topocentric frame
pairs.csv       RTTs between cities over the grid of inter-satellite links: Dijkstra's algorithm on
                these positions

pairs.csv omits a line if its path depends on a satellite that is within 0.05 degrees of the minimum
elevation at one of the ends. The two implementations may differ there.
"""
import heapq
import math
import pathlib
import sys

import numpy as np
import satkit as sk

ROOT = pathlib.Path(__file__).resolve().parents[2] / "crates/orbit"
VECTORS = ROOT / "tests/vectors"
LIGHT = 299_792_458.0
EPOCH = 946_684_800  # 2000-01-01, the epoch of the shells
SHELLS = {
    # planes, satellites per plane, inclination, revolutions per day, minimum elevation
    "kuiper-630": (34, 34, 51.9, 14.80, 30.0),
    "starlink-550": (72, 22, 53.0, 15.19, 25.0),
}
PAIRS = [
    ("Rio de Janeiro", "Saint Petersburg"),
    ("Manila", "Dalian"),
    ("Istanbul", "Nairobi"),
    ("Paris", "Moscow"),
    ("Toronto", "Washington"),
    ("Wuhan", "Washington"),
    ("London", "New York"),
    ("Sydney", "Tokyo"),
    ("Seattle", "Brussels"),
    ("Johannesburg", "Singapore"),
]
SECONDS = [0, 30, 613, 1800, 3600, 5000, 20_000, 86_400]


def at(unix):
    return sk.time.from_unixtime(unix)


def propagate(tles, times):
    """Returns ITRF positions in metres, indexed by satellite, time and axis."""
    teme, _ = sk.sgp4(
        tles, times, gravconst=sk.sgp4_gravconst.wgs72, opsmode=sk.sgp4_opsmode.improved
    )
    teme = np.asarray(teme).reshape(len(tles), len(times), 3)
    rotations = np.stack(
        [np.asarray(sk.frametransform.qteme2itrf(t).to_rotation_matrix()) for t in times]
    )
    return np.einsum("tij,stj->sti", rotations, teme)


def checksum(body):
    return str(sum(int(c) if c.isdigit() else c == "-" for c in body) % 10)


def shell(planes, per_plane, inclination, revolutions):
    """Returns the element sets of a shell, plane by plane."""
    made = []
    for plane in range(planes):
        for index in range(per_plane):
            node = plane * 360 / planes
            anomaly = (index * 360 / per_plane + (180 / per_plane if plane % 2 else 0)) % 360
            number = len(made) + 1
            one = f"1 {number:05d}U 00000A   00001.00000000  .00000000  00000-0  00000-0 0    0"
            two = f"2 {number:05d} {inclination:8.4f} {node:8.4f} 0000001   0.0000 "
            two += f"{anomaly:8.4f} {revolutions:11.8f}    0"
            lines = [f"0 {plane}-{index}", one + checksum(one), two + checksum(two)]
            made.append(sk.TLE.from_lines(lines)[0])
    return made


def read_cities():
    cities = {}
    for line in (ROOT / "src/places.csv").read_text().splitlines():
        if not line.startswith("#"):
            name, latitude, longitude = line.split(",")
            cities[name] = sk.itrfcoord(
                latitude_deg=float(latitude), longitude_deg=float(longitude), altitude=0.0
            )
    return cities


def elevations(city, satellites):
    """Returns the elevation of each satellite (ITRF metres) in degrees."""
    to_local = np.asarray(city.qenu2itrf.conj().to_rotation_matrix())
    enu = (satellites - np.asarray(city.vector)) @ to_local.T
    return np.degrees(np.arctan2(enu[:, 2], np.hypot(enu[:, 0], enu[:, 1])))


def grid(planes, per_plane):
    """Returns the neighbours of each satellite."""
    near = [set() for _ in range(planes * per_plane)]
    for plane in range(planes):
        for index in range(per_plane):
            me = plane * per_plane + index
            next_in_plane = plane * per_plane + (index + 1) % per_plane
            next_plane = (plane + 1) % planes * per_plane + index
            for other in (next_in_plane, next_plane):
                near[me].add(other)
                near[other].add(me)
    return near


def shortest(satellites, near, ends, limit, high):
    """Returns the one-way delay in seconds and the satellites of the path, or None."""
    seen = [np.flatnonzero(elevation >= limit) for elevation in high]
    up, down = [
        {int(s): float(np.linalg.norm(satellites[s] - end)) for s in visible}
        for end, visible in zip(ends, seen)
    ]
    best = dict(up)
    before = {}
    queue = [(length, s) for s, length in up.items()]
    heapq.heapify(queue)
    done = set()
    while queue:
        length, s = heapq.heappop(queue)
        if s in done:
            continue
        done.add(s)
        for other in near[s]:
            longer = length + float(np.linalg.norm(satellites[s] - satellites[other]))
            if longer < best.get(other, math.inf):
                best[other] = longer
                before[other] = s
                heapq.heappush(queue, (longer, other))
    last = min((s for s in down if s in best), key=lambda s: best[s] + down[s], default=None)
    if last is None:
        return None
    path = [last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return (best[last] + down[last]) / LIGHT, path[::-1]


def write(name, header, lines):
    text = f"# Made by tools/peers/orbit-vectors.py with satkit {sk.__version__}.\n{header}\n"
    (VECTORS / name).write_text(text + "".join(line + "\n" for line in lines))
    print(f"{name}: {len(lines)} lines")


def positions():
    elements = (VECTORS / "elements.txt").read_text().splitlines()
    lines = [line for line in elements if not line.startswith("#")]
    rows = []
    for first in range(0, len(lines), 3):
        name, one, two = lines[first : first + 3]
        tle = sk.TLE.from_lines(["0 " + name, one, two])[0]
        # Whole seconds, so that both implementations use exactly the same times.
        begins = round(tle.epoch.to_unixtime())
        unix = [begins + minutes * 60 for minutes in range(0, 1441, 80)]
        for when, (x, y, z) in zip(unix, propagate([tle], [at(u) for u in unix])[0]):
            rows.append(f"{name},{when},{x:.3f},{y:.3f},{z:.3f}")
    write("positions.csv", "name,unix_s,x_m,y_m,z_m", rows)


def networks():
    cities = read_cities()
    sightings, pairs = [], []
    for constellation, (planes, per_plane, inclination, revolutions, limit) in SHELLS.items():
        tles = shell(planes, per_plane, inclination, revolutions)
        tracks = propagate(tles, [at(EPOCH + s) for s in SECONDS])
        near = grid(planes, per_plane)
        for number, seconds in enumerate(SECONDS):
            satellites = tracks[:, number, :]
            names = sorted({name for pair in PAIRS for name in pair})
            high = {name: elevations(cities[name], satellites) for name in names}
            for name, elevation in high.items():
                shown = [
                    f"{s // per_plane}-{s % per_plane}={elevation[s]:.3f}"
                    for s in np.flatnonzero(elevation > limit - 1)
                ]
                sightings.append(f"{constellation},{name},{seconds},{' '.join(shown)}")
            for pair in PAIRS:
                ends = [np.asarray(cities[name].vector) for name in pair]
                high_of_ends = [high[name] for name in pair]
                found = [
                    shortest(satellites, near, ends, limit + margin, high_of_ends)
                    for margin in (-0.05, 0, 0.05)
                ]
                paths = {None if one is None else tuple(one[1]) for one in found}
                if len(paths) > 1:
                    continue
                one = found[1]
                result = "none,0" if one is None else f"{2000 * one[0]:.6f},{len(one[1])}"
                pairs.append(f"{constellation},{pair[0]},{pair[1]},{seconds},{result}")
    header = "constellation,place,seconds,satellites above the limit less one degree=elevation_deg"
    write("sightings.csv", header, sightings)
    write("pairs.csv", "constellation,from,to,seconds,rtt_ms,satellites", pairs)


if __name__ == "__main__":
    coverage = sk.frametransform.eop_coverage()
    begin, final, end = coverage or sys.exit("Earth orientation data is missing; set SATKIT_DATA")
    print(f"Earth orientation from {begin} to {end}, final up to {final}")
    positions()
    networks()
