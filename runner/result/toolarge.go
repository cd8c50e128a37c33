package result

import "strings"

// TooLarge reports whether a message says that a state has no room in its Secret. Then no restore helps: it would say the
// same.
func TooLarge(message string) bool {
	message = strings.Join(strings.Fields(message), " ") // it may be wrapped
	for _, said := range []string{"Too long: must have at most", "Too long: may not be more than", "Request entity too large"} {
		if strings.Contains(message, said) {
			return true
		}
	}
	return false
}
