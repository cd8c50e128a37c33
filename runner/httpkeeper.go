package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/statesrv"
)

// httpKeeper is the lockKeeper of an http backend whose server is a statesrv. The protocol of the backend
// itself has no way to look at a lock, only to take it; statesrv has one.
type httpKeeper struct {
	address        string
	user, password string
	client         *http.Client
}

// errNoLook says that the server cannot be asked who holds the lock.
var errNoLook = errors.New("the state server is no statesrv: its lock cannot be looked at")

// tlsSettings are settings of the backend that this client does not have.
var tlsSettings = []string{"skip_cert_verification", "client_ca_certificate_pem", "client_certificate_pem", "client_private_key_pem"}

// newHTTPKeeper takes the backend's own settings; nil when they say too little, or more than this client knows.
func newHTTPKeeper(b backend) *httpKeeper {
	s := b.settings
	for _, key := range tlsSettings {
		if s[key] != "" {
			return nil
		}
	}
	u, err := url.Parse(s["address"])
	if b.kind != "http" || err != nil || u.Host == "" || s["lock_address"] == "" {
		return nil
	}
	return &httpKeeper{
		address: strings.TrimSuffix(s["address"], "/"), user: s["username"], password: s["password"],
		client: &http.Client{Timeout: lookTimeout},
	}
}

func (k *httpKeeper) Holder(ctx context.Context) (*lock.Info, error) {
	response, err := k.do(ctx, http.MethodGet, k.address+"/lock", "")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound && response.Header.Get(statesrv.ErrorHeader) != "":
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, errNoLook
	}
	info, err := lock.ParseInfo(string(body))
	if err != nil || info.ID == "" {
		return nil, errNoLook
	}
	return &info, nil
}

func (k *httpKeeper) WaitFree(ctx context.Context) (lock.Wait, error) {
	return waitFree(ctx, k, time.Second)
}

// HasState is true: with the http backend an absent state needs no lock to be opened.
func (k *httpKeeper) HasState(context.Context) (bool, error) { return true, nil }

func (k *httpKeeper) Release(ctx context.Context, id string) (lock.Unlock, error) {
	return releaseHeld(ctx, k, id, func() error {
		body, err := json.Marshal(map[string]string{"ID": id})
		if err != nil {
			return err
		}
		response, err := k.do(ctx, "UNLOCK", k.address+"?ID="+url.QueryEscape(id), string(body))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("unlock %s: %s", id, response.Status)
		}
		return nil
	})
}

func (k *httpKeeper) do(ctx context.Context, method, address, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if k.user != "" || k.password != "" {
		request.SetBasicAuth(k.user, k.password)
	}
	return k.client.Do(request)
}
