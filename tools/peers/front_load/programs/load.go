// Load over HTTP/3 on quic-go: PORT CA HOST PATH CONNECTIONS REQUESTS. Opens the connections,
// prints a line, waits for one on standard input, makes the requests, one at a time on each
// connection, and prints what came of them.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Sockets that the connections share, and handshakes at a time.
const sockets, handshakes = 16, 64

type result struct {
	Ok      int64   `json:"ok"`
	Failed  int64   `json:"failed"`
	Why     string  `json:"why"`
	Seconds float64 `json:"seconds"`
	P99     float64 `json:"p99_ms"`
	Bytes   int64   `json:"bytes"`
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	check(err)
	authority, err := os.ReadFile(os.Args[2])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	host, path := os.Args[3], os.Args[4]
	connections, err := strconv.Atoi(os.Args[5])
	check(err)
	requests, err := strconv.ParseInt(os.Args[6], 10, 64)
	check(err)
	security := &tls.Config{RootCAs: pool, ServerName: host, NextProtos: []string{http3.NextProtoH3}}
	target := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	var ways []*quic.Transport
	for i := 0; i < sockets; i++ {
		socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))})
		check(err)
		ways = append(ways, &quic.Transport{Conn: socket})
	}
	var why atomic.Value
	opened, conns := make([]*http3.ClientConn, connections), make([]*quic.Conn, connections)
	var failed atomic.Int64
	each(connections, handshakes, func(i int) {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		// A busy machine is not a failed connection.
		settings := &quic.Config{KeepAlivePeriod: 15 * time.Second,
			HandshakeIdleTimeout: 30 * time.Second, MaxIdleTimeout: 120 * time.Second}
		conn, err := ways[i%sockets].Dial(ctx, target, security, settings)
		if err != nil {
			failed.Add(1)
			why.Store(err.Error())
			return
		}
		conns[i] = conn
		opened[i] = (&http3.Transport{}).NewClientConn(conn)
	})
	show(result{Ok: int64(connections) - failed.Load(), Failed: failed.Load(), Why: text(&why)})
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')

	failed.Store(0)
	var left, ok, bytes atomic.Int64
	left.Store(requests)
	times := make([][]float64, connections)
	begin := time.Now()
	each(connections, connections, func(i int) {
		for opened[i] != nil && left.Add(-1) >= 0 {
			start := time.Now()
			length, err := ask(opened[i], "https://"+host+":"+os.Args[1]+path)
			if err != nil {
				// A connection that has failed answers nothing more.
				failed.Add(1)
				why.Store(err.Error())
				return
			}
			ok.Add(1)
			bytes.Add(length)
			times[i] = append(times[i], time.Since(start).Seconds())
		}
	})
	seconds := time.Since(begin).Seconds()
	var all []float64
	for _, some := range times {
		all = append(all, some...)
	}
	sort.Float64s(all)
	p99 := 0.0
	if len(all) > 0 {
		p99 = 1000 * all[len(all)*99/100]
	}
	show(result{Ok: ok.Load(), Failed: failed.Load(), Why: text(&why), Seconds: seconds, P99: p99,
		Bytes: bytes.Load()})
	for _, conn := range conns {
		if conn != nil {
			_ = conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}
	}
}

func ask(conn *http3.ClientConn, url string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	length, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return length, err
}

// each does work for 0 to count-1, so many at a time.
func each(count, together int, work func(int)) {
	places := make(chan struct{}, together)
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		places <- struct{}{}
		group.Add(1)
		go func() {
			defer func() { <-places; group.Done() }()
			work(i)
		}()
	}
	group.Wait()
}

func text(value *atomic.Value) string {
	found, _ := value.Load().(string)
	return found
}

func show(found result) {
	line, _ := json.Marshal(found)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
