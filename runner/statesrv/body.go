package statesrv

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	stallTime  = 30 * time.Second // without a byte, a body is given up
	uploadTime = 15 * time.Minute // for the whole body
)

const (
	smallBody   = 1 << 20 // bytes; a longer body waits for its turn
	largeBodies = 4       // are received at a time, so that their memory is bounded
	turnTime    = time.Minute
)

// buffers has memory of bodies that were received, so that it need not be cleared.
type buffers struct{ pool sync.Pool }

func (b *buffers) take() *bytes.Buffer {
	if buffer, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return &bytes.Buffer{}
}

// give takes back what nobody reads from any more.
func (b *buffers) give(buffer *bytes.Buffer) {
	if buffer.Cap() <= smallBody {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}

// turns are held by the large bodies that are being received or stored.
type turns chan struct{}

func (t turns) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d large states are being received already: %w", cap(t), ctx.Err())
	}
}

// readBody reads at most limit bytes into b. A body that is longer is refused with
// 413, one that stalls or is cut short with 400. done lets others have their turn.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, large turns, b *bytes.Buffer) (done func(), err error) {
	done = func() {}
	if r.ContentLength > limit {
		return done, tooLarge(limit)
	}
	body := &patient{
		r: http.MaxBytesReader(w, r.Body, limit), conn: http.NewResponseController(w), end: time.Now().Add(uploadTime),
		ctx: r.Context(), large: large,
	}
	err = body.all(r.ContentLength, b)
	if body.holds {
		done = func() { <-large }
	}
	return done, err
}

// readLock reads the body of a lock or unlock.
func readLock(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	_, err := readBody(w, r, maxLockBody, nil, &b)
	return b.Bytes(), err
}

// all reads the body, whose length is negative if it is not known.
func (p *patient) all(length int64, b *bytes.Buffer) error {
	if length > smallBody {
		if err := p.takeTurn(); err != nil {
			return err
		}
	}
	if length > 0 { // memory that no byte is written to costs nothing
		b.Grow(int(length) + bytes.MinRead)
	}
	_, err := b.ReadFrom(p)
	if err == nil {
		_ = p.conn.SetReadDeadline(time.Time{}) // the handler may take its time
	} else {
		_ = p.conn.SetReadDeadline(time.Now()) // or net/http would wait for the rest
	}
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return tooLarge(long.Limit)
	case errors.Is(err, errNoTurn):
		return err
	case err != nil:
		return badRequest(fmt.Sprintf("the body did not arrive: %v", err))
	}
	return nil
}

func tooLarge(limit int64) *Refusal {
	return &Refusal{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is longer than %d bytes", limit)}
}

// patient waits for each part of a body, but not for ever.
type patient struct {
	r    io.Reader
	conn *http.ResponseController
	end  time.Time
	n    int64

	ctx   context.Context
	large turns
	holds bool // a turn
}

var errNoTurn = errors.New("try again")

func (p *patient) takeTurn() error {
	if err := p.large.take(p.ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoTurn, err)
	}
	p.holds = true
	return nil
}

func (p *patient) Read(b []byte) (int, error) {
	if p.n > smallBody && !p.holds { // its length was not told
		if err := p.takeTurn(); err != nil {
			return 0, err
		}
	}
	next := time.Now().Add(stallTime)
	if next.After(p.end) {
		next = p.end
	}
	// A writer that is no connection, as in a test, knows no deadlines.
	_ = p.conn.SetReadDeadline(next)
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
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
