/** Series as the model writes them: times, and values of equal number. */
export interface Samples {
  t: number[];
  v: number[];
}

/** What one modelled download does. */
export interface FlowModel {
  bytes: number;
  rateMbps: number;
  rttMs: number;
  queueBytes: number;
  /** Round trips before the request arrives. */
  handshakes: number;
  paced: boolean;
  /** Slow start ends here, in bytes, if no loss ends it before. */
  ssthresh: number;
  /** Window taken after the first round trip, in bytes (0: none). */
  jump: number;
  /** Share of packets that the link loses. */
  loss: number;
  random: () => number;
}

/** What came of it. */
export interface FlowOutcome {
  series: Record<string, Samples>;
  link: {
    throughput: Samples;
    queue: Samples;
    dropped_queue: Samples;
    dropped_channel: Samples;
    returned: Samples;
  };
  marks: { t_s: number; label: string }[];
  phases: { t_s: number; label: string }[];
  handshake_s: number;
  first_byte_s: number;
  completion_s: number;
  sent: number;
  lostQueue: number;
  lostRandom: number;
  declared: number;
  acks: number;
}

/** A small stream of random numbers (mulberry32). */
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const MSS = 1350;

/**
 * A download over one bottleneck: slow start, drop-tail queue, loss recovery, CUBIC. Good enough to
 * look at.
 */
export function modelFlow(m: FlowModel): FlowOutcome {
  const rtt = m.rttMs / 1000;
  const owd = rtt / 2;
  const rate = (m.rateMbps * 1e6) / 8;
  const total = Math.ceil(m.bytes / MSS);
  const make = (): Samples => ({ t: [], v: [] });
  const s = {
    sent: make(),
    acked: make(),
    received: make(),
    lost: make(),
    dropped_queue: make(),
    dropped_channel: make(),
    cwnd: make(),
    bytes_in_flight: make(),
    ssthresh: make(),
    pacing_rate: make(),
    rtt: make(),
    smoothed_rtt: make(),
  };
  const link = {
    throughput: make(),
    queue: make(),
    dropped_queue: make(),
    dropped_channel: make(),
    returned: make(),
  };
  const put = (x: Samples, t: number, v: number): void => {
    x.t.push(t);
    x.v.push(v);
  };
  const marks: { t_s: number; label: string }[] = [];
  const start = m.handshakes * rtt + owd;
  const phases = [{ t_s: start, label: m.jump ? "reconnaissance" : "slow start" }];
  const phase = (t_s: number, label: string): void => {
    if (phases.at(-1)!.label !== label) phases.push({ t_s, label });
  };
  if (m.handshakes > 0) marks.push({ t_s: m.handshakes * rtt, label: "handshake done" });

  let cwnd = 10 * MSS;
  let ssthresh = m.ssthresh;
  let slow = true;
  let jumped = m.jump === 0;
  let wmax = 0;
  let epoch = 0;
  let recovery = -1;
  let jumpTop = Infinity;
  let srtt = rtt;
  let flight = 0;
  let next = 0;
  let sentCount = 0;
  let ackedBytes = 0;
  let lostQueue = 0;
  let lostRandom = 0;
  let declared = 0;
  let acks = 0;
  let linkFree = 0;
  let nextSend = start;
  const resend: number[] = [];
  const got = new Uint8Array(total);
  let inOrder = 0;
  let delivered = 0;
  let firstByte = NaN;
  // Packets on their way, in order of sending; ACKs come back in that order too.
  interface Pkt {
    seq: number;
    sent: number;
    order: number;
    back: number;
    dropped: boolean;
    arrives: number;
  }
  const out: Pkt[] = [];
  let head = 0;
  let now = start;
  const bins = new Map<number, number>();
  const BIN = 0.05;

  const sendOne = (t: number): void => {
    const seq = resend.length ? resend.shift()! : next++;
    put(s.sent, t, seq * MSS);
    sentCount++;
    flight += MSS;
    const begin = Math.max(t, linkFree);
    const waiting = (begin - t) * rate;
    const p: Pkt = {
      seq,
      sent: t,
      order: sentCount,
      back: Infinity,
      dropped: false,
      arrives: Infinity,
    };
    if (waiting + MSS > m.queueBytes) {
      p.dropped = true;
      lostQueue++;
      put(s.dropped_queue, t, seq * MSS);
      put(link.dropped_queue, t, 1);
    } else {
      if (linkFree > 0 && t > linkFree) put(link.queue, linkFree, 0);
      linkFree = begin + MSS / rate;
      put(link.queue, t, waiting + MSS);
      const bin = Math.floor(linkFree / BIN);
      bins.set(bin, (bins.get(bin) ?? 0) + MSS);
      if (m.random() < m.loss) {
        p.dropped = true;
        lostRandom++;
        put(s.dropped_channel, linkFree + owd * 0.5, seq * MSS);
        put(link.dropped_channel, linkFree + owd * 0.5, 1);
      } else {
        p.arrives = linkFree + owd;
        p.back = p.arrives + owd + m.random() * 0.004;
      }
    }
    out.push(p);
  };
  const state = (t: number): void => {
    put(s.cwnd, t, cwnd);
    put(s.bytes_in_flight, t, flight);
    put(s.pacing_rate, t, (1.25 * cwnd * 8) / srtt / 1e6);
    if (ssthresh < Infinity) put(s.ssthresh, t, ssthresh);
  };
  const trySend = (t: number): void => {
    while (flight + MSS <= cwnd && (resend.length || next < total)) {
      if (m.paced) {
        nextSend = Math.max(nextSend, t);
        sendOne(nextSend);
        nextSend += MSS / ((1.25 * cwnd) / srtt);
        if (nextSend > t + 0.01) break;
      } else sendOne(t);
    }
  };
  trySend(now);
  state(now);
  for (let guard = 0; guard < 5_000_000 && ackedBytes < total * MSS; guard++) {
    // The next thing to happen: an ACK, or a paced packet.
    let ack = head;
    while (ack < out.length && out[ack]!.dropped) ack++;
    const ackAt = out[ack]?.back ?? Infinity;
    const canSend = flight + MSS <= cwnd && (resend.length > 0 || next < total);
    if (canSend && nextSend < ackAt) {
      now = Math.max(now, nextSend);
      trySend(now);
      put(s.bytes_in_flight, now, flight);
      continue;
    }
    if (ackAt === Infinity) {
      // Everything outstanding was dropped: the timer fires.
      now += 1.5 * srtt;
      for (; head < out.length; head++) {
        flight -= MSS;
        declared++;
        put(s.lost, now, out[head]!.seq * MSS);
        resend.push(out[head]!.seq);
      }
      cwnd = 2 * MSS;
      nextSend = now;
      trySend(now);
      continue;
    }
    const p = out[ack]!;
    now = Math.max(now, ackAt);
    let hit = false;
    for (; head < ack; head++) {
      const gone = out[head]!;
      flight -= MSS;
      declared++;
      put(s.lost, now, gone.seq * MSS);
      resend.push(gone.seq);
      if (gone.order > recovery) hit = true;
    }
    head = ack + 1;
    flight -= MSS;
    const sample = p.back - p.sent;
    srtt = srtt * 0.875 + sample * 0.125;
    put(s.rtt, now, sample * 1000);
    put(s.smoothed_rtt, now, srtt * 1000);
    if (!got[p.seq]) {
      got[p.seq] = 1;
      ackedBytes += MSS;
      if (Number.isNaN(firstByte)) firstByte = p.arrives;
      while (inOrder < total && got[inOrder]) inOrder++;
      if (inOrder * MSS > delivered) {
        delivered = inOrder * MSS;
        put(
          s.received,
          Math.max(p.arrives, s.received.t.at(-1) ?? 0),
          Math.min(m.bytes, delivered),
        );
      }
    }
    if (acks++ % 2 === 0) put(s.acked, now, Math.min(m.bytes, ackedBytes));
    const full = flight + 2 * MSS >= cwnd * 0.5;
    if (phases.at(-1)!.label === "unvalidated" && p.order > jumpTop) phase(now, "validating");
    else if (phases.at(-1)!.label === "validating" && p.order > jumpTop + m.jump / MSS)
      phase(now, "congestion avoidance");
    else if (/recovery|retreat/.test(phases.at(-1)!.label) && p.order > recovery)
      phase(now, "congestion avoidance");
    if (hit) {
      phase(now, /validat/.test(phases.at(-1)!.label) ? "safe retreat" : "recovery");
      recovery = sentCount;
      wmax = cwnd;
      cwnd = Math.max(2 * MSS, cwnd * 0.7);
      ssthresh = cwnd;
      epoch = now;
      if (slow) marks.push({ t_s: now, label: "loss ends slow start" });
      slow = false;
    } else if (!jumped && now >= start + rtt) {
      jumped = true;
      cwnd = m.jump;
      jumpTop = sentCount;
      phase(now, "unvalidated");
      marks.push({ t_s: now, label: "jump to saved window" });
    } else if (slow && full) {
      cwnd += MSS;
      if (cwnd >= ssthresh) {
        slow = false;
        wmax = cwnd;
        epoch = now;
        marks.push({ t_s: now, label: "slow start ends" });
        phase(now, "congestion avoidance");
      }
    } else if (!slow && full) {
      const k = Math.cbrt(((wmax / MSS) * 0.3) / 0.4);
      const w = (0.4 * (now - epoch - k) ** 3 + wmax / MSS) * MSS;
      if (w > cwnd) cwnd += Math.min(MSS, ((w - cwnd) / cwnd) * MSS);
    }
    nextSend = Math.max(nextSend, now);
    trySend(now);
    state(now);
  }
  s.acked.t.push(now);
  s.acked.v.push(m.bytes);
  const last = Math.ceil((now + 0.2) / BIN);
  for (let b = 0; b <= last; b++) {
    put(link.throughput, b * BIN, ((bins.get(b) ?? 0) * 8) / BIN / 1e6);
    put(
      link.returned,
      b * BIN,
      (((bins.get(b - Math.round(owd / BIN)) ?? 0) / MSS / 2) * 60 * 8) / BIN / 1e6,
    );
  }
  const completion = s.received.t.at(-1) ?? now;
  return {
    series: s,
    link,
    marks,
    phases,
    handshake_s: m.handshakes * rtt,
    first_byte_s: firstByte,
    completion_s: completion,
    sent: sentCount,
    lostQueue,
    lostRandom,
    declared,
    acks: Math.ceil(acks / 2),
  };
}
