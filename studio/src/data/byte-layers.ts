import type { Flow } from "./schema.ts";

/** A layer of the bytes sent against the data. */
export interface ByteLayer {
  key: string;
  name: string;
  colour: [light: string, dark: string];
}

/** Layers from the outside inwards: headers of every packet, then its content. ACKs are orange. */
export const BYTE_LAYERS: readonly ByteLayer[] = [
  { key: "ip", name: "IP", colour: ["#4a4f57", "#c3c9d1"] },
  { key: "udp", name: "UDP", colour: ["#11819f", "#6ed6ee"] },
  { key: "quic_header", name: "QUIC header", colour: ["#0060a8", "#62b5ff"] },
  { key: "quic", name: "QUIC", colour: ["#0060a8", "#62b5ff"] },
  { key: "ack", name: "ACK frames", colour: ["#c8500a", "#ff9559"] },
  { key: "credit", name: "flow-control frames", colour: ["#00805f", "#3fd0a8"] },
  { key: "other", name: "other frames", colour: ["#93458f", "#dc9fe4"] },
  { key: "padding", name: "padding", colour: ["#b3bac3", "#5b6673"] },
  { key: "tag", name: "authentication tag", colour: ["#8f6a00", "#e6bf4f"] },
  { key: "tcp", name: "TCP header", colour: ["#c02a5c", "#ff86ac"] },
  { key: "tcp_options", name: "TCP options", colour: ["#e58aa8", "#a83a60"] },
  { key: "tcp_payload", name: "TCP payload", colour: ["#b98ad0", "#7a4a92"] },
];

/** Layers that are headers of the network and the transport, and the layer of acknowledgements. */
export const HEADERS = ["ip", "udp", "tcp"];
export const ACKS = ["ack"];

/** Layers that `quic` is the sum of. */
const IN_QUIC = ["quic_header", "ack", "credit", "other", "padding", "tag"];

/** True if the layers inside QUIC are known. */
export const isSplit = (of: Flow["return_bytes"]): boolean =>
  IN_QUIC.some((key) => (of[key] ?? 0) > 0);

/** Bytes by layer, without sums of other layers and without empty layers. */
export function partsOf(of: Flow["return_bytes"]): { layer: ByteLayer; bytes: number }[] {
  const split = isSplit(of);
  return BYTE_LAYERS.flatMap((layer) => {
    const bytes = of[layer.key] ?? 0;
    return bytes > 0 && !(layer.key === "quic" && split) ? [{ layer, bytes }] : [];
  });
}
