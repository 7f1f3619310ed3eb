/** The path as a picture: a server, a satellite, a client, and what is in flight between them. */
import { ms } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import type { Transfer } from "./transfers.ts";

/** Pixels between the streams of two transfers. */
const LANE = 13;
/** Most parts of a queue that are drawn side by side; pixels between them, and between queues. */
const QUEUE = 14;
const STEP = 5;
const ROW = 9;

type Place = [x: number, y: number];

interface Stage {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  ink: string;
  muted: string;
  line: string;
  ground: string;
}

const mix = ([ax, ay]: Place, [bx, by]: Place, share: number): Place => [
  ax + (bx - ax) * share,
  ay + (by - ay) * share,
];

/** Server, satellite and client. */
function ends({ width, height }: Stage): [Place, Place, Place] {
  const side = Math.max(54, width * 0.1);
  const low = height - 62;
  return [
    [side, low],
    [width / 2, 52],
    [width - side, low],
  ];
}

/** Where a packet is after `share` of the path from the server to the client. */
function along(stage: Stage, lane: number, lanes: number, share: number): Place {
  const [server, satellite, client] = ends(stage);
  const off = (lane - (lanes - 1) / 2) * LANE;
  const [a, b, c]: Place[] = [
    [server[0] + 18 + off * 0.5, server[1] - 20 + off],
    [satellite[0], satellite[1] + 24 + off],
    [client[0] - 18 - off * 0.5, client[1] - 20 + off],
  ] as Place[];
  return share < 0.5 ? mix(a!, b!, share * 2) : mix(b!, c!, share * 2 - 1);
}

function dot({ ctx }: Stage, [x, y]: Place, radius: number): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

function earth(stage: Stage): void {
  const { ctx, width, height, ground, line } = stage;
  const radius = width * 4;
  ctx.beginPath();
  ctx.arc(width / 2, height - 62 + radius, radius, Math.PI, 2 * Math.PI);
  ctx.fillStyle = ground;
  ctx.fill();
  ctx.strokeStyle = line;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}

function antenna({ ctx, ink }: Stage, [x, y]: Place, side: number, name: string): void {
  ctx.strokeStyle = ink;
  ctx.fillStyle = ink;
  ctx.lineWidth = 1.8;
  ctx.beginPath();
  ctx.moveTo(x - 9, y + 16);
  ctx.lineTo(x, y - 2);
  ctx.lineTo(x + 9, y + 16);
  ctx.moveTo(x, y - 2);
  ctx.lineTo(x + 8 * side, y - 12);
  ctx.stroke();
  // The dish looks up, towards the satellite.
  const look = side > 0 ? -Math.PI / 4 : (-3 * Math.PI) / 4;
  ctx.beginPath();
  ctx.arc(x + 6 * side, y - 10, 15, look + Math.PI / 2 + 0.1, look + (3 * Math.PI) / 2 - 0.1);
  ctx.stroke();
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.fillText(name, x, y + 38);
}

function satellite({ ctx, ink, muted }: Stage, [x, y]: Place, words: string): void {
  ctx.strokeStyle = ink;
  ctx.fillStyle = ink;
  ctx.lineWidth = 1.8;
  ctx.strokeRect(x - 8, y - 8, 16, 16);
  for (const side of [-1, 1]) {
    const from = side < 0 ? x - 44 : x + 16;
    ctx.strokeRect(from, y - 6, 28, 12);
    ctx.beginPath();
    ctx.moveTo(from + 14, y - 6);
    ctx.lineTo(from + 14, y + 6);
    ctx.moveTo(x + 8 * side, y);
    ctx.lineTo(x + 16 * side, y);
    ctx.stroke();
  }
  ctx.beginPath();
  ctx.arc(x, y + 8, 7, 0.15, Math.PI - 0.15);
  ctx.stroke();
  ctx.fillStyle = muted;
  ctx.font = "13px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.fillText(words, x, y - 26);
}

function stream(stage: Stage, transfer: Transfer, lane: number, lanes: number, now: number): void {
  const { ctx } = stage;
  const { oneWay, parts, before } = transfer;
  const at = (share: number): Place => along(stage, lane, lanes, share);
  const colour = variantColour(transfer.index);
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = 1;
  ctx.globalAlpha = 0.22;
  ctx.beginPath();
  ctx.moveTo(...at(0));
  ctx.lineTo(...at(0.5));
  ctx.lineTo(...at(1));
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.8;
  for (const { departs, toServer } of before) {
    const share = (now - departs) / oneWay;
    if (share < 0 || share > 1) continue;
    const [x, y] = at(toServer ? 1 - share : share);
    ctx.beginPath();
    ctx.arc(x, y, 4.2, 0, 2 * Math.PI);
    ctx.stroke();
  }
  let waiting = 0;
  for (const { sent, departs, arrives, acknowledged } of parts) {
    if (now >= departs && now <= arrives) dot(stage, at((now - departs) / oneWay), 2.5);
    else if (now >= sent && now < departs) waiting += 1;
    else if (now > arrives && now <= acknowledged) {
      ctx.globalAlpha = 0.55;
      dot(stage, at(1 - (now - arrives) / oneWay), 1.2);
      ctx.globalAlpha = 1;
    }
  }
  // Beside the antenna, as far as there is room.
  const [x, y] = ends(stage)[0];
  const shown = Math.min(waiting, QUEUE, Math.floor((x - 26) / STEP));
  const row = y + 2 + (lane - (lanes - 1) / 2) * ROW;
  for (let i = 0; i < shown; i++) dot(stage, [x - 22 - i * STEP, row], 2);
}

/** Draws the picture at a time of all transfers. */
export function drawPath(canvas: HTMLCanvasElement, transfers: Transfer[], now: number): void {
  const ctx = canvas.getContext("2d");
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!ctx || width === 0) return;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const stage: Stage = {
    ctx,
    width,
    height,
    ink: colour("--ink"),
    muted: colour("--muted"),
    line: colour("--line"),
    ground: colour("--hover"),
  };
  earth(stage);
  const [server, over, client] = ends(stage);
  transfers.forEach((transfer, lane) => stream(stage, transfer, lane, transfers.length, now));
  const rtt = Math.round((transfers[0]?.oneWay ?? 0) * 2000);
  satellite(stage, over, `there and back: ${ms(rtt)}`);
  antenna(stage, server, 1, "server");
  antenna(stage, client, -1, "client");
}
