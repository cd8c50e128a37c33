package statesrv

import (
	"net/url"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		query  string
		want   int
		status int
	}{
		{"", 100, 200}, {"limit=", 100, 200}, {"limit=1", 1, 200}, {"limit=1000", 1000, 200}, {"limit=1001", 1000, 200},
		{"limit=99999999999999999999", 0, 400}, {"limit=0", 0, 400}, {"limit=-1", 0, 400}, {"limit=x", 0, 400},
	} {
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := pageLimit(query); got != c.want || status(err) != c.status {
			t.Errorf("?%s is %d, %v; want %d, %d", c.query, got, err, c.want, c.status)
		}
	}
}
