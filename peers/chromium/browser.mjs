// Chromium with its default settings, except for what an unattended run needs: a fresh profile, no
// background connections, and a single server with a single version of HTTP.
import { createHash, X509Certificate } from 'node:crypto'
import { accessSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'

// playwright-core takes the path of an executable and does not search for its name.
const exists = (file) => {
    try {
        accessSync(file)
        return true
    } catch {
        return false
    }
}

/**
 * Starts Chromium. `modules` is the folder whose node_modules contains playwright-core. The server
 * is `host` at `address` and `port`, with the certificate in the file `cert`. `protocol` is h3, h2
 * or h1. The returned `close` ends Chromium and removes its profile.
 */
export async function start({ modules, protocol, host, address, port, cert, flags = [] }) {
    const { chromium } = createRequire(resolve(modules, 'package.json'))('playwright-core')
    const executablePath =
        process.env.BENTPIPE_CHROMIUM ??
        process.env.PATH.split(delimiter)
            .map((folder) => join(folder, 'chromium'))
            .find(exists)
    const origin = `${host}:${port}`
    const key = new X509Certificate(readFileSync(cert)).publicKey.export({
        type: 'spki',
        format: 'der',
    })
    const protocolFlags = {
        h3: ['--enable-quic', `--origin-to-force-quic-on=${origin}`],
        h2: ['--disable-quic'],
        h1: ['--disable-quic', '--disable-http2'],
    }[protocol]
    // 2 disables preloading ("never" in chrome/browser/preloading/preloading_prefs.h).
    const profile = mkdtempSync(join(tmpdir(), 'bentpipe-chromium-'))
    mkdirSync(join(profile, 'Default'))
    writeFileSync(
        join(profile, 'Default', 'Preferences'),
        JSON.stringify({ net: { network_prediction_options: 2 } }),
    )
    const digest = createHash('sha256').update(key).digest('base64')
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
                `--ignore-certificate-errors-spki-list=${digest}`,
                ...protocolFlags,
                ...flags,
            ],
        })
    } catch (error) {
        remove()
        throw error
    }
    const close = async () => {
        // A browser that does not end within 3 s is killed with this process.
        await Promise.race([
            browser.close().catch(() => {}),
            new Promise((resolve) => setTimeout(resolve, 3000)),
        ])
        remove()
    }
    return { browser, origin, close }
}

/**
 * Opens a page of the server's origin whose content is generated here. The first request that
 * reaches the server is therefore the page's first fetch.
 */
export async function blank(browser, origin) {
    const page = await browser.newPage()
    const blankPage = `https://${origin}/blank`
    // Without this icon the browser would request one from the server.
    const body = '<!doctype html><link rel="icon" href="data:,">'
    await page.route(blankPage, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(blankPage)
    await page.unroute(blankPage)
    return page
}

/** Downloads `path` in `page` within `timeout` ms. Times are in seconds since the request. */
export function download(page, path, timeout) {
    return page.evaluate(
        async ([path, timeout]) => {
            performance.clearResourceTimings()
            const response = await fetch(path, {
                cache: 'no-store',
                signal: AbortSignal.timeout(timeout),
            })
            if (!response.ok) throw new Error(`status ${response.status}`)
            const body = await response.arrayBuffer()
            const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body))
            const entry = performance
                .getEntriesByType('resource')
                .find((entry) => entry.name.endsWith(path))
            const since = (time) => (time - entry.startTime) / 1000
            return {
                bytes: body.byteLength,
                sha256: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
                // Chromium reports an HTTP/2 connection as reused, without a handshake time.
                handshake_s: entry.connectEnd > entry.connectStart ? since(entry.connectEnd) : null,
                first_byte_s: since(entry.responseStart),
                completion_s: since(entry.responseEnd),
                protocol: entry.nextHopProtocol,
            }
        },
        [path, timeout],
    )
}
