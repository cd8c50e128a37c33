package statesrv

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	stallTime  = 30 * time.Second // without a byte, a body is given up
	uploadTime = 15 * time.Minute // for the whole body
)

// readBody reads at most limit bytes. A body that is longer is refused with 413,
// one that stalls or is cut short with 400 or 408.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body := &patient{
		r: http.MaxBytesReader(w, r.Body, limit), conn: http.NewResponseController(w), end: time.Now().Add(uploadTime),
	}
	var b bytes.Buffer
	if n := r.ContentLength; 0 < n && n <= 1<<20 { // a header alone must not cost much
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(body)
	_ = body.conn.SetReadDeadline(time.Time{}) // the handler may take its time
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, badRequest(fmt.Sprintf("the body did not arrive: %v", err))
	}
	return b.Bytes(), nil
}

func tooLarge(limit int64) *Refusal {
	return &Refusal{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is longer than %d bytes", limit)}
}

// patient waits for each part of a body, but not for ever.
type patient struct {
	r    io.Reader
	conn *http.ResponseController
	end  time.Time
}

func (p *patient) Read(b []byte) (int, error) {
	next := time.Now().Add(stallTime)
	if next.After(p.end) {
		next = p.end
	}
	// A writer that is no connection, as in a test, knows no deadlines.
	_ = p.conn.SetReadDeadline(next)
	return p.r.Read(b)
}

// contentMD5 returns what the Content-MD5 header says, nil if there is none.
func contentMD5(r *http.Request) ([]byte, error) {
	text := r.Header.Get("Content-MD5")
	if text == "" {
		return nil, nil
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != 16 {
		return nil, badRequest(fmt.Sprintf("Content-MD5 %.40q is not 16 bytes in base64", text))
	}
	return sum, nil
}
