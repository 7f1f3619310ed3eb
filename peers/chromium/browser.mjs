// Chromium as its users have it, but for what a run without a person needs: a profile of its own that connects to nobody before it is asked to, and one server, by one version of HTTP.
import { createHash, X509Certificate } from 'node:crypto'
import { accessSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'

// playwright-core wants a path, and not a name to look for.
const there = (file) => {
    try {
        accessSync(file)
        return true
    } catch {
        return false
    }
}

/**
 * Starts it. `modules` is the folder whose node_modules has playwright-core; the server is `host` at `address` and `port`, its certificate the file `cert`, and `protocol` h3, h2 or h1.
 * `close` ends it and removes the profile.
 */
export async function start({ modules, protocol, host, address, port, cert, flags = [] }) {
    const { chromium } = createRequire(resolve(modules, 'package.json'))('playwright-core')
    const executablePath =
        process.env.BENTPIPE_CHROMIUM ??
        process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find(there)
    const origin = `${host}:${port}`
    const key = new X509Certificate(readFileSync(cert)).publicKey.export({ type: 'spki', format: 'der' })
    const spoken = {
        h3: ['--enable-quic', `--origin-to-force-quic-on=${origin}`],
        h2: ['--disable-quic'],
        h1: ['--disable-quic', '--disable-http2'],
    }[protocol]
    // 2 is "never" (chrome/browser/preloading/preloading_prefs.h).
    const profile = mkdtempSync(join(tmpdir(), 'bentpipe-chromium-'))
    mkdirSync(join(profile, 'Default'))
    writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify({ net: { network_prediction_options: 2 } }))
    const remove = () => rmSync(profile, { recursive: true, force: true })
    let browser
    try {
        browser = await chromium.launchPersistentContext(profile, {
            executablePath,
            args: [
                '--no-sandbox',
                '--disable-gpu',
                '--no-proxy-server',
                '--disable-background-networking',
                `--host-resolver-rules=MAP ${host} ${address}`,
                `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
                ...spoken,
                ...flags,
            ],
        })
    } catch (error) {
        remove()
        throw error
    }
    const close = async () => {
        // A browser that does not end by itself is killed with this process.
        await Promise.race([browser.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 3000))])
        remove()
    }
    return { browser, origin, close }
}

/** A page that has the server's origin and is made up here: what it fetches is the first that the server hears of this browser. */
export async function blank(browser, origin) {
    const page = await browser.newPage()
    const made = `https://${origin}/made-up`
    // Without an icon of its own it would have the server asked for one.
    const body = '<!doctype html><link rel="icon" href="data:,">'
    await page.route(made, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(made)
    await page.unroute(made)
    return page
}

/** Downloads `path` in `page` within `timeout` ms. Times count from the request, in seconds. */
export function download(page, path, timeout) {
    return page.evaluate(
        async ([path, timeout]) => {
            performance.clearResourceTimings()
            const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(timeout) })
            if (!response.ok) throw new Error(`status ${response.status}`)
            const body = await response.arrayBuffer()
            const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body))
            const entry = performance.getEntriesByType('resource').find((entry) => entry.name.endsWith(path))
            const since = (time) => (time - entry.startTime) / 1000
            return {
                bytes: body.byteLength,
                sha256: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
                // A connection of HTTP/2 counts as one that was there: its handshake is not told.
                handshake_s: entry.connectEnd > entry.connectStart ? since(entry.connectEnd) : null,
                first_byte_s: since(entry.responseStart),
                completion_s: since(entry.responseEnd),
                protocol: entry.nextHopProtocol,
            }
        },
        [path, timeout],
    )
}
