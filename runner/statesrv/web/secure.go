package web

import "net/http"

// policy lets a page use what this server sends, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure adds what tells a browser not to help others.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		// Not "no-referrer": with it a browser's own form has the Origin "null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// sameOrigin lets through what a browser says has come from this server's own page.
// A request that does not say is no page's: programs have the API.
func sameOrigin(next http.HandlerFunc) http.HandlerFunc {
	check := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
		if err := check.Check(r); err != nil || !said {
			http.Error(w, "this request does not come from the server's own page", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}
