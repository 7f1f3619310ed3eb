// Downloads a file in Chromium and prints when, and by which protocol. The page is made up, and has the server's origin: what is measured is the first connection to it.
import { createHash, X509Certificate } from 'node:crypto'
import { accessSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const names = ['modules', 'protocol', 'host', 'address', 'port', 'path', 'cert', 'timeout']
const { values: options } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) })
const { chromium } = createRequire(resolve(options.modules, 'package.json'))('playwright-core')

const origin = `${options.host}:${options.port}`
const key = new X509Certificate(readFileSync(options.cert)).publicKey.export({ type: 'spki', format: 'der' })
const flags = {
    h3: ['--enable-quic', `--origin-to-force-quic-on=${origin}`],
    h2: ['--disable-quic'],
    h1: ['--disable-quic', '--disable-http2'],
}[options.protocol]

// playwright-core wants a path, and not a name to look for.
const there = (file) => {
    try {
        accessSync(file)
        return true
    } catch {
        return false
    }
}
const executablePath =
    process.env.BENTPIPE_CHROMIUM ?? process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find(there)

const timeout = Number(options.timeout) * 1000
// A profile that connects to nobody before it is asked to: 2 is "never" (chrome/browser/preloading/preloading_prefs.h).
const profile = mkdtempSync(join(tmpdir(), 'bentpipe-chromium-'))
mkdirSync(join(profile, 'Default'))
writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify({ net: { network_prediction_options: 2 } }))
const browser = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [
        '--no-sandbox',
        '--disable-gpu',
        '--no-proxy-server',
        '--disable-background-networking',
        `--host-resolver-rules=MAP ${options.host} ${options.address}`,
        `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
        ...flags,
    ],
})
let failure = null
try {
    const page = await browser.newPage()
    const made = `https://${origin}/made-up`
    await page.route(made, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
    await page.goto(made)
    await page.unroute(made)
    const result = await page.evaluate(
        async ([path, timeout]) => {
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
        [options.path, timeout],
    )
    console.log(JSON.stringify(result))
} catch (error) {
    failure = String(error).split('\n')[0]
} finally {
    // A browser that does not end by itself is killed with this process.
    await Promise.race([browser.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 3000))])
    rmSync(profile, { recursive: true, force: true })
}
if (failure !== null) console.error(failure)
process.exit(failure === null ? 0 : 1)
