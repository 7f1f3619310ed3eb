import type { Report } from "./report.types.ts";

/** Names of the client's and the server's ends of the path: places, if they have any. */
export function endsOf(report: Report): [client: string, server: string] {
  const names: [string, string] = ["client", "server"];
  for (const { constellation, routes } of report.traces) {
    const sky = report.constellations?.[constellation ?? -1];
    const route = routes?.find(({ nodes }) => nodes.length > 1);
    if (!sky || !route) continue;
    const of = (node: number): string | undefined =>
      sky.stations[node - sky.satellites.names.length]?.name;
    const [from, to] = [of(route.nodes[0]!), of(route.nodes.at(-1)!)];
    if (!from || !to) continue;
    // Routes are those of the data.
    const flow = report.runs.flatMap((run) => run.flows).find((f) => f.name === route.flow);
    return flow?.direction === "download" ? [to, from] : [from, to];
  }
  return names;
}
