package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/shell"
)

// programs begin the commands that a person is to copy.
type programs struct {
	captf   string // this one, as it was started
	kubectl string
}

// programs have the flags that chose the cluster: without them a copied command would go to another one.
func (a *app) programs() programs {
	flags := a.flags.given()
	return programs{captf: a.name + flags, kubectl: "kubectl" + flags}
}

// unshown are the flags that no command to copy repeats: one that names a namespace has it anyway, and a token is secret.
var unshown = []string{clientcmd.FlagNamespace, clientcmd.FlagBearerToken}

// given are the flags that choose a cluster and a user, as they were given, for a shell. Each has a blank before it.
func (f *configFlags) given() string {
	var text strings.Builder
	add := func(name, value string) { text.WriteString(" --" + name + "=" + shell.Quote(value)) }
	f.flags.VisitAll(func(flag *pflag.Flag) {
		list, several := flag.Value.(pflag.SliceValue)
		switch {
		case !flag.Changed || slices.Contains(unshown, flag.Name):
		case several:
			for _, value := range list.GetSlice() {
				add(flag.Name, value)
			}
		default:
			add(flag.Name, flag.Value.String())
		}
	})
	return text.String()
}
