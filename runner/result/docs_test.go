package result

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is the documentation, which is the contract that a reader has.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/result.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageHasEveryField compares the fields with the block that lists them: each field by its name, with a ? when it
// may be left out, and no other one.
func TestPageHasEveryField(t *testing.T) {
	_, rest, _ := strings.Cut(page(t), "```\n")
	block, _, _ := strings.Cut(rest, "```\n")
	block = strings.ReplaceAll(block, "\n ", " ") // a line that goes on
	got := map[string][]string{}
	for _, field := range strings.FieldsFunc(block, func(r rune) bool { return r == '\n' || r == '·' }) {
		name, description, _ := strings.Cut(strings.TrimSpace(field), " ")
		got[name] = nil
		if from, to := strings.Index(description, "{"), strings.LastIndex(description, "}"); from >= 0 {
			got[name] = fieldName.FindAllString(description[from:to], -1)
		}
	}
	want := map[string][]string{}
	for field := range reflect.TypeFor[Result]().Fields() {
		want[nameOf(field)] = namesBelow(field.Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/result.md does not list the fields as they are (-code +page)\n%s", diff)
	}
}

var fieldName = regexp.MustCompile(`[A-Za-z]+\??`)

// nameOf is a field as JSON has it, with a ? when it may be left out.
func nameOf(field reflect.StructField) string {
	name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
	if option == "omitempty" {
		name += "?"
	}
	return name
}

// namesBelow are the fields of a struct, or of what a list or a pointer has, in their order.
func namesBelow(t reflect.Type) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		all = append(append(all, nameOf(field)), namesBelow(field.Type)...)
	}
	return all
}

// TestPageHasEveryValue compares the kinds, the reasons and their exit codes with the tables, and looks for the other
// values that a field may have.
func TestPageHasEveryValue(t *testing.T) {
	text, values := page(t), valuesOf(t)
	for kind, code := range rows(t, text, "error.kind") {
		if got := (&Result{Error: &Error{Kind: Kind(kind)}}).ExitCode(); code != got && kind != string(KindStep) {
			t.Errorf("kind %s has exit code %d, the page says %d", kind, got, code)
		}
		values["Kind"] = without(t, values["Kind"], kind)
	}
	for reason, code := range rows(t, text, "error.reason") {
		if got := (&Result{Error: &Error{Kind: KindStep, Reason: Reason(reason)}}).ExitCode(); code != got {
			t.Errorf("reason %s has exit code %d, the page says %d", reason, got, code)
		}
		values["Reason"] = without(t, values["Reason"], reason)
	}
	for _, of := range []string{"Outcome", "Saved"} {
		values[of] = slices.DeleteFunc(values[of], func(v string) bool { return strings.Contains(text, "`"+v+"`") })
	}
	for of, left := range values {
		if len(left) > 0 {
			t.Errorf("%s: the page lacks %q", of, left)
		}
	}
}

// without removes a value that has to be there.
func without(t *testing.T, values []string, value string) []string {
	t.Helper()
	i := slices.Index(values, value)
	if i < 0 {
		t.Errorf("the page has %q, which is none of %q", value, values)
		return values
	}
	return slices.Delete(values, i, i+1)
}

// rows are the values in the first column of a table, with the exit codes in the second.
func rows(t *testing.T, page, title string) map[string]int {
	t.Helper()
	_, table, ok := strings.Cut(page, "| `"+title+"` | exit code |")
	table, _, _ = strings.Cut(table, "\n\n")
	found := map[string]int{}
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(row, "|")
		code, _ := strconv.Atoi(strings.TrimSpace(cells[2])) // that of the kind step is told by its reason
		for _, value := range quoted.FindAllStringSubmatch(cells[1], -1) {
			found[value[1]] = code
		}
	}
	if !ok || len(found) == 0 {
		t.Fatalf("the page has no table of %s", title)
	}
	return found
}

var quoted = regexp.MustCompile("`([^`]+)`")

// valuesOf are the values of the string types, as the source has them.
func valuesOf(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "values.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		of := fmt.Sprint(spec.Type)
		found[of] = append(found[of], value)
		return true
	})
	return found
}
