// Transfers much over HTTP/3 on quic-go: PORT CA HOST UPLOAD_BYTES DOWNLOAD_BYTES. Prints a JSON
// line for each thing asked.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	port, host := os.Args[1], os.Args[3]
	authority, err := os.ReadFile(os.Args[2])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool},
		Dial: func(
			ctx context.Context, _ string, security *tls.Config, config *quic.Config,
		) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, "127.0.0.1:"+port, security, config)
		},
	}
	client := &http.Client{Transport: transport}
	url := "https://" + host + ":" + port
	upload, _ := strconv.ParseInt(os.Args[4], 10, 64)
	size, _ := strconv.ParseInt(os.Args[5], 10, 64)

	begin := time.Now()
	digest := sha256.New()
	content := io.TeeReader(io.LimitReader(rand.New(rand.NewSource(1)), upload), digest)
	response, err := client.Post(url+"/app/upload", "application/octet-stream", content)
	var answer struct {
		Length int64
		Sha256 string
	}
	if err == nil {
		err = json.NewDecoder(response.Body).Decode(&answer)
	}
	same := answer.Sha256 == hex.EncodeToString(digest.Sum(nil))
	right := err == nil && answer.Length == upload && same
	report("large upload", answer.Length, begin, right, err)

	begin = time.Now()
	var got int64
	response, err = client.Get(url + "/sparse.bin")
	if err == nil {
		got, err = io.Copy(io.Discard, response.Body)
	}
	report("large sparse download", got, begin, err == nil && got == size, err)
}

func report(asked string, bytes int64, begin time.Time, right bool, err error) {
	measured := fmt.Sprintf("%d MB in %.1f s", bytes/1_000_000, time.Since(begin).Seconds())
	if err != nil {
		measured = err.Error()
	}
	line, _ := json.Marshal(map[string]any{"asked": asked, "measured": measured, "right": right})
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
