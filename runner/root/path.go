package root

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// moduleMark stands for ${path.module} in the text of a path.
const moduleMark = "\x00"

// pathText is a template as a text in which paths can be looked for: ${path.module} becomes
// moduleMark, another interpolation "." where a path begins and a name within one.
func pathText(t *hclsyntax.TemplateExpr) string {
	var text strings.Builder
	begins := true
	for _, part := range t.Parts {
		piece := "x"
		switch literal, ok := literalText(part); {
		case ok:
			piece = literal
		case isPathModule(part):
			piece = moduleMark
		case begins:
			piece = "."
		}
		text.WriteString(piece)
		if piece != "" {
			begins = strings.ContainsRune(delimiters, rune(piece[len(piece)-1]))
		}
	}
	return text.String()
}

func literalText(e hclsyntax.Expression) (string, bool) {
	literal, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || literal.Val.IsNull() || literal.Val.Type().FriendlyName() != "string" {
		return "", false
	}
	return literal.Val.AsString(), true
}

func isPathModule(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(t.Traversal) != 2 || t.Traversal.RootName() != "path" {
		return false
	}
	attr, ok := t.Traversal[1].(hcl.TraverseAttr)
	return ok && attr.Name == "module"
}

// delimiters are what a path in a longer text, a command say, is cut out at.
const delimiters = " \t\r\n\"'`=:;,()[]{}<>|&?"

// addText looks for paths in a text.
func (r *references) addText(text string, isSource bool) {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(delimiters, c) }) {
		base := 0
		if isSource || strings.HasPrefix(word, moduleMark) {
			base = r.depth
		}
		r.levels = max(r.levels, ups(word)-base)
	}
}

// ups is how far above its start a relative path leads at its highest.
func ups(path string) int {
	if strings.HasPrefix(path, "/") {
		return 0
	}
	at, highest := 0, 0
	for name := range strings.SplitSeq(path, "/") {
		switch name {
		case "", ".", moduleMark:
		case "..":
			at--
			highest = min(highest, at)
		default:
			at++
		}
	}
	return -highest
}
