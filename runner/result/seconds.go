package result

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Seconds is a duration that JSON holds as a number of seconds, rounded to
// milliseconds.
type Seconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (s Seconds) MarshalJSON() ([]byte, error) {
	ms := time.Duration(s).Round(time.Millisecond).Milliseconds()
	return strconv.AppendFloat(nil, float64(ms)/1e3, 'f', -1, 64), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. A number that no duration can
// hold becomes the longest one.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	ns := math.Round(f*1e3) * 1e6
	switch {
	case ns >= math.MaxInt64:
		*s = math.MaxInt64
	case ns <= math.MinInt64:
		*s = math.MinInt64
	default:
		*s = Seconds(ns)
	}
	return nil
}
