import type { Layer } from "../charts/time/spec.ts";
import { SERIES } from "../data/names.ts";
import { type Role, roleColour } from "../format/palette.ts";
import { perRun } from "./lines.ts";
import { BASE, type Panel, type RunsView } from "./panel.ts";

const HOWTO = {
  bytes:
    "Each dot is a packet sent, at its position among all bytes sent: for QUIC the lengths of " +
    "packets are added up, so that it can be compared with TCP. ",
  packets:
    "Each dot is a packet sent, at its packet number: QUIC's own, or the count of segments for " +
    "TCP. ",
};

/** Packets sent and ACKs received, of several runs over each other. */
export const sender: Panel = {
  flowSeries: [SERIES.packetNumberSent, SERIES.packetNumberAcked],
  ofRuns: (view) => {
    const { counted } = view;
    const bytes = counted === "bytes";
    const layers = (key: string, title: string, what: string, role: Role, more: Partial<Layer>) =>
      perRun(view, key, title, ({ name }) => ({ ...more, ...named(view, name, what, role) }));
    const [sent, acked] = bytes
      ? [SERIES.sent, SERIES.acked]
      : [SERIES.packetNumberSent, SERIES.packetNumberAcked];
    const lost = layers(SERIES.lost, "Packets declared lost by", "lost", "lost", {
      style: "cross",
      dash: [],
    });
    return [
      {
        ...BASE,
        id: "sender",
        title: `${bytes ? "Byte sequence" : "Packet numbers"} and ACKs at the sender`,
        unit: counted,
        zero: false,
        height: 340,
        layers: [
          ...layers(sent, "Packets sent by", "sent", "sent", { style: "dots" }),
          ...layers(acked, "ACKs received by the sender of", "ACKs", "acked", {
            width: 1.4,
            points: true,
          }),
          ...(bytes ? lost : []),
        ],
        howto:
          HOWTO[counted] +
          "The line is what ACKs have acknowledged when they reach the sender; zoom in, and each " +
          "ACK is a dot on it. Few ACKs make tall steps: each of them releases a burst, unless " +
          "the sender paces. Times count from each run's first packet.",
      },
    ];
  },
};

/** The name of a layer and, if there is only one run, the colour of its role. */
function named(
  { runs }: RunsView,
  name: string,
  what: string,
  role: Role,
): Partial<Layer> & { name: string } {
  return runs.length === 1
    ? { name: what, colour: () => roleColour(role) }
    : { name: `${name} ${what}` };
}
