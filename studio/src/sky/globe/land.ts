import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import atlas from "world-atlas/land-110m.json";
import type { Land } from "../view.ts";

/** Land at a scale of 1:110 million (Natural Earth, public domain), as polygons. */
export function readLand(): Land {
  const topology = atlas as unknown as Topology<{ land: GeometryCollection }>;
  return feature(topology, topology.objects.land).features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return [geometry.coordinates as Land[number]];
    return geometry.type === "MultiPolygon" ? (geometry.coordinates as Land) : [];
  });
}
