import { METRIC, metricOf } from "./metrics.ts";
import type { ReverseBytes } from "./report.types.ts";

/** A layer of the bytes sent against the data. */
export interface ByteLayer {
  key: keyof ReverseBytes;
  name: string;
  colour: [light: string, dark: string];
}

/** Layers from the outside inwards: headers of every packet, then its content. ACKs are orange. */
const COLOURS: [key: keyof ReverseBytes, light: string, dark: string][] = [
  ["ip", "#4a4f57", "#c3c9d1"],
  ["udp", "#11819f", "#6ed6ee"],
  ["quic_header", "#0060a8", "#62b5ff"],
  ["quic", "#0060a8", "#62b5ff"],
  ["ack", "#c8500a", "#ff9559"],
  ["flow_control", "#00805f", "#3fd0a8"],
  ["other", "#93458f", "#dc9fe4"],
  ["padding", "#b3bac3", "#5b6673"],
  ["tag", "#8f6a00", "#e6bf4f"],
  ["tcp", "#c02a5c", "#ff86ac"],
  ["tcp_options", "#e58aa8", "#a83a60"],
  ["tcp_payload", "#b98ad0", "#7a4a92"],
];

/** The layers, named by what follows the colon in the labels of their metrics. */
export const BYTE_LAYERS: readonly ByteLayer[] = COLOURS.map(([key, light, dark]) => ({
  key,
  name: metricOf(`${METRIC.reverseBytes}.${key}`).label.replace(/^.*: /, ""),
  colour: [light, dark],
}));

/** Layers that are headers of the network and the transport, and the layer of acknowledgements. */
export const HEADERS = ["ip", "udp", "tcp"];
export const ACKS = ["ack"];

/** Layers that `quic` is the sum of. */
const IN_QUIC = ["quic_header", "ack", "flow_control", "other", "padding", "tag"] as const;

/** True if the layers inside QUIC are known. */
export const isSplit = (of: ReverseBytes): boolean => IN_QUIC.some((key) => of[key] > 0);

/** Bytes by layer, without sums of other layers and without empty layers. */
export function partsOf(of: ReverseBytes): { layer: ByteLayer; bytes: number }[] {
  const split = isSplit(of);
  return BYTE_LAYERS.flatMap((layer) => {
    const bytes = of[layer.key];
    return bytes > 0 && !(layer.key === "quic" && split) ? [{ layer, bytes }] : [];
  });
}
