// A client and a server of HTTP/3 on quic-go for `explain-truth`: with windows, pauses, and answers
// that come late or slowly. QLOGDIR names the folder of qlog files, SSLKEYLOGFILE that of the keys.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("role is missing; allowed: client, server")
	}
	switch arguments[0] {
	case "client":
		return client(arguments[1:])
	case "server":
		return server(arguments[1:])
	}
	return fmt.Errorf("role %q is unknown; allowed: client, server", arguments[0])
}

func client(arguments []string) error {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	url := flags.String("url", "", "what to fetch")
	count := flags.Int("count", 1, "requests, one after another")
	parallel := flags.Int("parallel", 1, "of them at the same time")
	pause := flags.Float64("pause", 0, "seconds between requests")
	stream := flags.Uint64("stream-window", 64<<20, "bytes")
	connection := flags.Uint64("connection-window", 256<<20, "bytes")
	rate := flags.Int("read-rate", 0, "bytes a second of each answer; 0: as they come")
	_ = flags.Parse(arguments)

	config := &quic.Config{
		InitialStreamReceiveWindow: *stream, MaxStreamReceiveWindow: *stream,
		InitialConnectionReceiveWindow: *connection, MaxConnectionReceiveWindow: *connection,
		Tracer: qlog.DefaultConnectionTracer, HandshakeIdleTimeout: 30 * time.Second,
	}
	keys, err := keyLog()
	if err != nil {
		return err
	}
	security := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: keys}
	transport := &http3.Transport{TLSClientConfig: security, QUICConfig: config}
	begin := time.Now()
	var bytes int64
	for done := 0; done < *count; done += *parallel {
		if done > 0 {
			time.Sleep(time.Duration(*pause * float64(time.Second)))
		}
		fetched, err := fetch(transport, *url, *rate, min(*parallel, *count-done))
		if err != nil {
			return err
		}
		bytes += fetched
	}
	line, _ := json.Marshal(map[string]any{
		"bytes": bytes, "completion_s": time.Since(begin).Seconds(),
	})
	fmt.Println(string(line))
	return transport.Close()
}

// keyLog opens the file of the keys, if there is to be one.
func keyLog() (io.Writer, error) {
	name := os.Getenv("SSLKEYLOGFILE")
	if name == "" {
		return nil, nil
	}
	return os.Create(name)
}

func fetch(transport *http3.Transport, url string, rate, parallel int) (int64, error) {
	var all sync.WaitGroup
	sizes, failures := make([]int64, parallel), make([]error, parallel)
	for number := range parallel {
		all.Go(func() {
			sizes[number], failures[number] = fetchOne(transport, url, rate)
		})
	}
	all.Wait()
	var bytes int64
	for number, failure := range failures {
		if failure != nil {
			return 0, failure
		}
		bytes += sizes[number]
	}
	return bytes, nil
}

func fetchOne(transport *http3.Transport, url string, rate int) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	if rate > 0 {
		return readSlowly(response.Body, rate)
	}
	return io.Copy(io.Discard, response.Body)
}

// readSlowly reads a tenth of a second's bytes at a time, and counts them.
func readSlowly(body io.Reader, rate int) (int64, error) {
	begin, bytes := time.Now(), int64(0)
	for {
		read, err := io.CopyN(io.Discard, body, int64(max(1, rate/10)))
		bytes += read
		if err == io.EOF {
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
		due := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
		time.Sleep(due - time.Since(begin))
	}
}

func server(arguments []string) error {
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	listen := flags.String("listen", "", "ADDRESS:PORT")
	cert := flags.String("cert", "", "certificate, PEM")
	key := flags.String("key", "", "private key, PEM")
	think := flags.Float64("think", 0, "seconds before each answer")
	pace := flags.Int("pace", 0, "bytes a second of an answer; 0: as fast as possible")
	_ = flags.Parse(arguments)
	answer := func(writer http.ResponseWriter, request *http.Request) {
		size, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/"))
		if err != nil || size < 0 {
			http.NotFound(writer, request)
			return
		}
		time.Sleep(time.Duration(*think * float64(time.Second)))
		writer.Header().Set("Content-Length", strconv.Itoa(size))
		chunk, wait := make([]byte, 1<<16), time.Duration(0)
		if *pace > 0 {
			wait = 250 * time.Millisecond
			chunk = make([]byte, max(1, *pace/4))
		}
		for size > 0 {
			written, err := writer.Write(chunk[:min(size, len(chunk))])
			if err != nil {
				return
			}
			if size -= written; size > 0 && wait > 0 {
				writer.(http.Flusher).Flush()
				time.Sleep(wait)
			}
		}
	}
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	keys, err := keyLog()
	if err != nil {
		return err
	}
	security := &tls.Config{Certificates: []tls.Certificate{pair}, KeyLogWriter: keys}
	served := http3.Server{
		TLSConfig: http3.ConfigureTLSConfig(security),
		Addr:      *listen, Handler: http.HandlerFunc(answer),
		QUICConfig: &quic.Config{
			Tracer: qlog.DefaultConnectionTracer, HandshakeIdleTimeout: 30 * time.Second,
		},
	}
	return served.ListenAndServe()
}
