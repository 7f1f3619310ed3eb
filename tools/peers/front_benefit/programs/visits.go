// Visits a site several times, each time on a new connection, with the settings that quic-go and
// Go's HTTP/2 have: PROTOCOL ADDRESS PORT CA HOST PATH VISITS PAUSE_S. Tickets and tokens are kept
// between visits. Prints the seconds of each visit.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	protocol, address := os.Args[1], net.JoinHostPort(os.Args[2], os.Args[3])
	authority, err := os.ReadFile(os.Args[4])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	security := &tls.Config{RootCAs: pool, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	settings := &quic.Config{TokenStore: quic.NewLRUTokenStore(8, 8)}
	url := "https://" + net.JoinHostPort(os.Args[5], os.Args[3]) + os.Args[6]
	visits, err := strconv.Atoi(os.Args[7])
	check(err)
	pause, err := strconv.ParseFloat(os.Args[8], 64)
	check(err)
	var times []float64
	for visit := 0; visit < visits; visit++ {
		if visit > 0 {
			time.Sleep(time.Duration(pause * float64(time.Second)))
		}
		// Early data, which the method says is safe.
		method := http3.MethodGet0RTT
		var transport http.RoundTripper = &http3.Transport{
			TLSClientConfig: security,
			QUICConfig:      settings,
			Dial: func(
				ctx context.Context, _ string, security *tls.Config, config *quic.Config,
			) (*quic.Conn, error) {
				return quic.DialAddrEarly(ctx, address, security, config)
			},
		}
		if protocol != "h3" {
			method = http.MethodGet
			transport = &http.Transport{
				TLSClientConfig:   security,
				ForceAttemptHTTP2: true,
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, address)
				},
			}
		}
		begin := time.Now()
		request, err := http.NewRequest(method, url, nil)
		check(err)
		response, err := transport.RoundTrip(request)
		check(err)
		if response.StatusCode != http.StatusOK {
			check(fmt.Errorf("status %d", response.StatusCode))
		}
		length, err := io.Copy(io.Discard, response.Body)
		check(err)
		if length != response.ContentLength {
			check(fmt.Errorf("received %d of %d bytes", length, response.ContentLength))
		}
		times = append(times, time.Since(begin).Seconds())
		if closer, ok := transport.(io.Closer); ok {
			_ = closer.Close()
		} else if idle, ok := transport.(*http.Transport); ok {
			idle.CloseIdleConnections()
		}
	}
	line, _ := json.Marshal(times)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
