package result

import "testing"

func TestTooLarge(t *testing.T) {
	for message, want := range map[string]bool{
		"Failed to save state: Request entity too large: limit is 3145728":          true,
		"data: Too long: may not be\nmore than 1048576 bytes":                       true,
		"secrets \"x\" is forbidden: exceeded quota: q, requested: count/secrets=1": false,
		"": false,
	} {
		if got := TooLarge(message); got != want {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}
