// A small HTTP/3 client and server on quic-go, with the default settings of quic-go. The server
// also speaks HTTP/2 and HTTP/1.1 over TCP, on the same port.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// fetched is the client's output. Times are in seconds since just before the first packet.
type fetched struct {
	Bytes      int64    `json:"bytes"`
	Handshake  *float64 `json:"handshake_s"`
	FirstByte  *float64 `json:"first_byte_s"`
	Completion *float64 `json:"completion_s"`
	Protocol   string   `json:"protocol"`
}

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
	flags := flag.NewFlagSet(arguments[0], flag.ExitOnError)
	switch arguments[0] {
	case "client":
		target := flags.String("url", "", "https://ADDRESS:PORT/FILE")
		name := flags.String("name", "", "name in the server's certificate")
		ca := flags.String("ca", "", "the server's certificate, PEM")
		output := flags.String("output", "", "file to write")
		timeout := flags.Int("timeout", 60, "time limit in seconds")
		_ = flags.Parse(arguments[1:])
		return client(*target, *name, *ca, *output, time.Duration(*timeout)*time.Second)
	case "server":
		root := flags.String("root", "", "directory to serve")
		address := flags.String("address", "", "address to listen on")
		port := flags.String("port", "", "port for UDP and TCP")
		cert := flags.String("cert", "", "certificate, PEM")
		key := flags.String("key", "", "private key, PEM")
		_ = flags.Parse(arguments[1:])
		return server(*root, net.JoinHostPort(*address, *port), *cert, *key)
	}
	return fmt.Errorf("role %q is unknown; allowed: client, server", arguments[0])
}

func client(target, name, ca, output string, timeout time.Duration) (err error) {
	where, err := url.Parse(target)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s contains no certificate", ca)
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()

	result := fetched{Protocol: "h3"}
	begin := time.Now()
	since := func() *float64 {
		seconds := time.Since(begin).Seconds()
		return &seconds
	}
	defer func() {
		line, _ := json.Marshal(result)
		fmt.Println(string(line))
	}()
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name},
		// Like the transport's own dialling, but to the given address. Also records the time of the
		// handshake.
		Dial: func(
			ctx context.Context, _ string, config *tls.Config, settings *quic.Config,
		) (*quic.Conn, error) {
			connection, err := quic.DialAddr(ctx, where.Host, config, settings)
			if err == nil {
				result.Handshake = since()
			}
			return connection, err
		},
	}
	defer transport.Close()
	from := "https://" + net.JoinHostPort(name, where.Port()) + where.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	body := bufio.NewReaderSize(response.Body, 1<<16)
	if _, err := body.Peek(1); err != nil && err != io.EOF {
		return err
	}
	result.FirstByte = since()
	result.Bytes, err = io.Copy(file, body)
	if err != nil {
		return err
	}
	result.Completion = since()
	if response.ContentLength >= 0 && response.ContentLength != result.Bytes {
		return fmt.Errorf("received %d of %d bytes", result.Bytes, response.ContentLength)
	}
	return nil
}

func server(root, listen, cert, key string) error {
	files := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		name := strings.TrimPrefix(request.URL.Path, "/")
		if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00") {
			http.NotFound(writer, request)
			return
		}
		http.ServeFile(writer, request, filepath.Join(root, name))
	})
	ended := make(chan error, 2)
	go func() {
		tcp := http.Server{Addr: listen, Handler: files}
		ended <- tcp.ListenAndServeTLS(cert, key)
	}()
	go func() {
		udp := http3.Server{Addr: listen, Handler: files}
		ended <- udp.ListenAndServeTLS(cert, key)
	}()
	return <-ended
}
