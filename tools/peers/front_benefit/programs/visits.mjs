// Visits a site several times in Chromium, each time on a new connection: visits.mjs SPEC. Prints
// the seconds of each visit.
import { setTimeout as sleep } from 'node:timers/promises'
import { blank, download, start } from '../../../../peers/chromium/browser.mjs'

const LIMIT_MS = 60_000
const spec = JSON.parse(process.argv[2])
const { browser, origin, close } = await start(spec)
try {
    const page = await blank(browser, origin)
    const times = []
    for (let visit = 0; visit < spec.visits; visit++) {
        const result = await download(page, spec.path, LIMIT_MS)
        if (result.protocol !== spec.protocol)
            throw new Error(`asked over ${spec.protocol}, got ${result.protocol}`)
        times.push(result.completion_s)
        if (visit + 1 === spec.visits) break
        // Chromium keeps tickets only while it runs: close its connections, and not Chromium.
        const tools = await browser.newPage()
        await tools.goto('chrome://net-internals/#sockets')
        await tools.click('#sockets-view-flush-button')
        await tools.close()
        await sleep(spec.pause * 1000)
    }
    console.log(JSON.stringify(times))
} finally {
    await close()
}
process.exit(0)
