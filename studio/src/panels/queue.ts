import type { Layer } from "../charts/time/spec.ts";
import { LINK_SERIES } from "../data/names.ts";
import { type Role, roleColour } from "../format/palette.ts";
import { perLink } from "./lines.ts";
import type { LinksView, Panel } from "./panel.ts";
import { levels, linkBase } from "./throughput.ts";

/** Dropped packets as strokes at the bottom of the plot; without a role in the link's colour. */
function drops(view: LinksView, key: string, title: string, what: string, role?: Role): Layer[] {
  const colour = role ? { colour: () => roleColour(role) } : {};
  return perLink(view, key, title, { style: "rug", ...colour }).map((l) => ({
    ...l,
    name: `${l.name} ${what}`,
  }));
}

/** Queues of links, with their drops. */
export const queue: Panel = {
  linkSeries: [
    LINK_SERIES.queue,
    LINK_SERIES.droppedQueue,
    LINK_SERIES.droppedPolicer,
    LINK_SERIES.droppedChannel,
    LINK_SERIES.droppedRouting,
  ],
  ofLinks: (view) => [
    {
      ...linkBase(view),
      id: "queue",
      title: "Queue",
      unit: "bytes",
      layers: [
        ...perLink(view, LINK_SERIES.queue, "Bytes queued at"),
        ...drops(view, LINK_SERIES.droppedQueue, "Drops of the full queue at", "drops"),
        ...drops(
          view,
          LINK_SERIES.droppedPolicer,
          "Drops of the policer at",
          "policer drops",
          "droppedPolicer",
        ),
        ...drops(
          view,
          LINK_SERIES.droppedChannel,
          "Channel losses on",
          "channel losses",
          "droppedChannel",
        ),
        ...drops(
          view,
          LINK_SERIES.droppedRouting,
          "Routing losses on",
          "routing losses",
          "droppedRouting",
        ),
      ],
      references: levels(view, LINK_SERIES.queue, "limit", (l) => l.queue_limit_bytes),
      howto:
        "Bytes queued at each link; strokes at the bottom are lost packets. A queue that never " +
        "drains adds delay and no throughput; a queue at its limit drops packets.",
    },
  ],
};
