// Requests, downloads and uploads without a pause, until a line comes on standard input: PROTOCOL
// PORT CA HOST. Prints how many there were and how many failed.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Requests on one connection; bytes of an upload; bytes and time of a piece, which slow transfers
// down so that they last through several reloads.
const (
	onOne  = 5
	upload = 10_000_000
	piece  = 100_000
	pause  = 20 * time.Millisecond
)

type counter struct{ all, failed atomic.Int64 }

var (
	security *tls.Config
	address  string
	protocol string
	first    atomic.Value
)

func main() {
	protocol, address = os.Args[1], "127.0.0.1:"+os.Args[2]
	authority, err := os.ReadFile(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	security = &tls.Config{RootCAs: pool}
	url := "https://" + os.Args[4] + ":" + os.Args[2]
	counters := map[string]*counter{"requests": {}, "downloads": {}, "uploads": {}}
	work := []struct {
		kind  string
		count int
		do    func(*http.Client) error
	}{
		{"requests", 2, func(client *http.Client) error { return small(client, url) }},
		{"downloads", 2, func(client *http.Client) error { return download(client, url) }},
		{"uploads", 2, func(client *http.Client) error { return send(client, url) }},
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	for _, kind := range work {
		for i := 0; i < kind.count; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for !stop.Load() {
					client, closed := connect()
					for i := 0; i < onOne && !stop.Load(); i++ {
						count := counters[kind.kind]
						count.all.Add(1)
						if err := kind.do(client); err != nil {
							count.failed.Add(1)
							first.CompareAndSwap(nil, kind.kind+": "+err.Error())
						}
						time.Sleep(pause)
					}
					closed()
				}
			}()
		}
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	stop.Store(true)
	group.Wait()
	why, _ := first.Load().(string)
	found := map[string]any{"why": why}
	for kind, count := range counters {
		found[kind], found[kind+"_failed"] = count.all.Load(), count.failed.Load()
	}
	line, _ := json.Marshal(found)
	fmt.Println(string(line))
}

// connect returns a client that has no connection yet, and what closes the one that it opens.
func connect() (*http.Client, func()) {
	if protocol == "h3" {
		transport := &http3.Transport{
			TLSClientConfig: security,
			Dial: func(
				ctx context.Context, _ string, security *tls.Config, config *quic.Config,
			) (*quic.Conn, error) {
				return quic.DialAddrEarly(ctx, address, security, config)
			},
		}
		return &http.Client{Transport: transport}, func() { _ = transport.Close() }
	}
	transport := &http.Transport{
		TLSClientConfig:   security.Clone(),
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

func small(client *http.Client, url string) error {
	response, err := client.Get(url + "/app/who")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return status(response, err)
}

func download(client *http.Client, url string) error {
	response, err := client.Get(url + "/large")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var length int64
	for err == nil {
		var got int64
		got, err = io.CopyN(io.Discard, response.Body, piece)
		length += got
		time.Sleep(pause)
	}
	if err != io.EOF {
		return fmt.Errorf("after %d bytes: %w", length, err)
	}
	if length != response.ContentLength {
		return fmt.Errorf("%d of %d bytes", length, response.ContentLength)
	}
	return status(response, nil)
}

// slow is content that comes a piece at a time.
type slow struct {
	io.Reader
	left int
}

func (s *slow) Read(into []byte) (int, error) {
	if s.left <= 0 {
		s.left = piece
		time.Sleep(pause)
	}
	got, err := s.Reader.Read(into[:min(len(into), s.left)])
	s.left -= got
	return got, err
}

func send(client *http.Client, url string) error {
	digest := sha256.New()
	random := io.LimitReader(rand.New(rand.NewSource(time.Now().UnixNano())), upload)
	content := &slow{Reader: io.TeeReader(random, digest)}
	request, err := http.NewRequest(http.MethodPost, url+"/app/upload", content)
	if err != nil {
		return err
	}
	request.ContentLength = upload
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Length int64
		Sha256 string
	}
	if err := status(response, json.NewDecoder(response.Body).Decode(&answer)); err != nil {
		return err
	}
	same := strings.EqualFold(answer.Sha256, hex.EncodeToString(digest.Sum(nil)))
	if answer.Length != upload || !same {
		return fmt.Errorf("%d of %d bytes arrived, or others", answer.Length, upload)
	}
	return nil
}

func status(response *http.Response, err error) error {
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}
