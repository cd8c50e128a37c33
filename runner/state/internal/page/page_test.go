package page

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// book is a list of so many pages. A fake, because a server loses pages only after minutes; the packages that use this
// one list from a real one.
type book struct {
	pages   int
	expires int // so many lists are lost before their last page
	err     error
	asked   int
}

func (b *book) List(_ context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	b.asked++
	number := 0
	fmt.Sscan(opts.Continue, &number)
	if number == b.pages-1 && b.err != nil {
		return nil, b.err
	}
	if number == b.pages-1 && b.expires > 0 {
		b.expires--
		return nil, apierrors.NewResourceExpired("gone")
	}
	list := &corev1.SecretList{Items: make([]corev1.Secret, opts.Limit)}
	for i := range list.Items {
		list.Items[i].Name = fmt.Sprint(number*int(opts.Limit) + i)
	}
	if number < b.pages-1 {
		list.Continue = fmt.Sprint(number + 1)
	}
	return list, nil
}

func TestSecrets(t *testing.T) {
	failure := errors.New("connection refused")
	tests := map[string]struct {
		book
		limit       int
		want, asked int
		err         func(error) bool
	}{
		"one page":       {book: book{pages: 1}, limit: 100, want: size, asked: 1},
		"three":          {book: book{pages: 3}, limit: 100, want: 3 * size, asked: 3},
		"at the limit":   {book: book{pages: 3}, limit: 2 * size, want: 3 * size, asked: 3},
		"over the limit": {book: book{pages: 3}, limit: 2*size - 1, want: 2 * size, asked: 2},
		"lost thrice":    {book: book{pages: 3, expires: 3}, limit: 100, want: 3 * size, asked: 12},
		"lost for good":  {book: book{pages: 3, expires: 9}, limit: 100, asked: 12, err: apierrors.IsResourceExpired},
		"another error":  {book: book{pages: 2, err: failure}, limit: 100, asked: 2, err: func(err error) bool { return err == failure }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Secrets(t.Context(), &tt.book, "a=b", tt.limit)
			if tt.err == nil && err != nil || tt.err != nil && !tt.err(err) {
				t.Errorf("error %v", err)
			}
			if tt.book.asked != tt.asked {
				t.Errorf("asked %d times, want %d", tt.book.asked, tt.asked)
			}
			if err != nil {
				return
			}
			if len(found) != tt.want {
				t.Fatalf("%d Secrets, want %d", len(found), tt.want)
			}
			for i, secret := range found {
				if secret.Name != fmt.Sprint(i) {
					t.Errorf("number %d is %s", i, secret.Name)
				}
			}
		})
	}
}
