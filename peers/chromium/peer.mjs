// Downloads a file in Chromium and prints its times and protocol as one line of JSON.
import { parseArgs } from 'node:util'
import { blank, download, start } from './browser.mjs'

const names = ['modules', 'protocol', 'host', 'address', 'port', 'path', 'cert', 'timeout']
const { values: options } = parseArgs({
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
})

let started = null
let failure = null
try {
    started = await start(options)
    const page = await blank(started.browser, started.origin)
    console.log(JSON.stringify(await download(page, options.path, Number(options.timeout) * 1000)))
} catch (error) {
    failure = String(error).split('\n')[0]
} finally {
    await started?.close()
}
if (failure !== null) console.error(failure)
process.exit(failure === null ? 0 : 1)
