// Package plural puts a noun behind a number.
package plural

// Of returns the word for n of what it names, for a word whose plural is made with an s.
func Of(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
