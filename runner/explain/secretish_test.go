package explain

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"kubeconfig": true, "kube_config_raw": true, "kubeConfig": true, "db_pwd": true, "pw": true, "admin_pw": true, "pw-old": true,
		"user_data": true, "userData": true, "custom_data": true, "primary_connection_string": true, "dsn": true, "password": true,
		"pwm_pin": false, "spawn": false, "users": false, "data": false, "connection": false, "kube_version": false, "adsn": false,
	} {
		if got := secretName(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSecretValue(t *testing.T) {
	for value, want := range map[string]bool{
		"-----BEGIN RSA PRIVATE KEY-----\nx": true, "text\n-----BEGIN PRIVATE KEY-----": true,
		"-----BEGIN CERTIFICATE-----": false, "-----BEGIN PUBLIC KEY-----": false,
		"postgres://user:s3cr3t@db/x": true, "redis://:s3cr3t@db": true, "see https://u:p@h/": true,
		"https://host:8080/path": false, "https://host:8080/a@b": false, "ssh://git@host/x": false, "arn:aws:x:y@z": false,
		"Server=x;User Id=u;Password=s3cr3t;": true, "host=x password=s3cr3t": true, "password=": false,
	} {
		if got := secretValue(value); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// The looks of secrets as one regular expression: slower, but plain to read.
var secretLooks = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY|` +
	`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:[^\s/@]+@|` +
	`(?i)\b(password|passwd|pwd)\s*=\s*[^\s;]`)

func TestSecretValueIsWhatTheExpressionSays(t *testing.T) {
	parts := []string{
		"-----BEGIN ", "RSA ", "PRIVATE KEY", "://", ":", "@", "/", "?", "http", "7", "+", "u", "é", " ", "\n", "\v", ";", "=", "==",
		"password", "Passwd", "PWD", "_", "-", "x",
	}
	random := rand.New(rand.NewPCG(1, 2))
	secrets := 0
	for range 200_000 {
		var text strings.Builder
		for range random.IntN(9) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		want := secretLooks.MatchString(text.String())
		if got := secretValue(text.String()); got != want {
			t.Fatalf("%q: %v, want %v", text.String(), got, want)
		}
		if want {
			secrets++
		}
	}
	if secrets < 1000 {
		t.Errorf("only %d of the texts are secrets", secrets)
	}
}

// What only the value tells is hidden where it stands, and told of.
func TestSecretsByTheirLooks(t *testing.T) {
	with := func(serial, secret string) string {
		return document(serial, "a", resource("x_y", `"attributes":{"endpoint":"postgres://u:`+secret+`@db","user_data":"`+secret+`","size":`+serial+`}`),
			`"o":{"value":{"a":"postgres://u:`+secret+`@db"},"type":"string"}`)
	}
	want := map[string]string{"output.o": "", "x_y.x endpoint": "", "x_y.x user_data": ""}
	for _, s := range read(t, with("1", "hunter2-hunter2")).Sensitive {
		name := s.Address
		if s.Path != "" {
			name += " " + s.Path
		}
		if _, ok := want[name]; !ok {
			t.Errorf("%s is told of", name)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("%v is not told of", want)
	}
	d := diff(t, with("1", "hunter2-hunter2"), with("2", "swordfish-0"))
	if len(d.Changed[0].Attributes) != 3 || !d.Outputs[0].Sensitive {
		t.Errorf("got %+v", d)
	}
	added := diff(t, document("1", "a", "", ""), with("2", "swordfish-0"))
	if !added.Outputs[0].Sensitive {
		t.Errorf("got %+v", added)
	}
}
