package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
	"github.com/captf/captf-runner/runner/statesrv"
)

// configFlags are the flags of kubectl that choose a cluster. cli-runtime has them as well, and links kustomize for it.
type configFlags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	flags     *pflag.FlagSet // once they are added
}

func newConfigFlags() *configFlags {
	return &configFlags{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
}

// shownFlags are those in the help texts; the others are those of kubectl, too, and work as well.
var shownFlags = []string{clientcmd.RecommendedConfigPathFlag, clientcmd.FlagContext, clientcmd.FlagNamespace}

func (f *configFlags) addTo(flags *pflag.FlagSet) {
	f.flags = flags
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", "" // kubectl has them no more
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	flags.StringVar(&f.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shownFlags, flag.Name) })
}

// load chooses the cluster as kubectl does.
func (f *configFlags) load() (config *rest.Config, namespace string, err error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
	if config, err = loader.ClientConfig(); err == nil {
		namespace, _, err = loader.Namespace()
	}
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", fmt.Errorf("no cluster is configured in %s: give --kubeconfig, or set KUBECONFIG",
			cmp.Or(f.rules.ExplicitPath, strings.Join(f.rules.Precedence, ", ")))
	case err != nil:
		return nil, "", err
	}
	config.QPS, config.Burst = 50, 100 // one person's command, not a controller
	return config, namespace, nil
}

// cluster is one namespace of one cluster.
type cluster struct {
	programs
	namespace string
	client    kubernetes.Interface
	metadata  metadata.Interface
	launch.Clients
}

// connect makes no request: a server that is not there shows at the first one.
func (a *app) connect() (*cluster, error) {
	config, namespace, err := a.flags.load()
	if err != nil {
		return nil, fmt.Errorf("choose a cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("choose a cluster: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("choose a cluster: %w", err)
	}
	return &cluster{programs: a.programs(), namespace: namespace, client: client, metadata: meta, Clients: launch.NewClients(client, namespace)}, nil
}

func (c *cluster) chunks() chunks.API {
	return chunks.API{Secrets: c.client.CoreV1().Secrets(c.namespace), Leases: c.client.CoordinationV1().Leases(c.namespace)}
}

func (c *cluster) copies() backup.Store {
	return backup.Store{Secrets: c.client.CoreV1().Secrets(c.namespace)}
}

// withAdvice adds the way out to errors of the cluster that have one. page has the rights that the command needs.
func withAdvice(err error, page string) error {
	var refusal *statesrv.Refusal
	switch {
	case errors.As(err, &refusal) && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden):
		return fmt.Errorf("%w (set STATESRV_USERNAME and STATESRV_PASSWORD)", err)
	case errors.As(err, new(serverError)):
		return err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err // no right helps
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Errorf("%w (kubectl describe quota, with the same -n, shows what is used)", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w (the rights that the command needs are in %s)", err, page)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w (the cluster does not know you: look at kubectl auth whoami, and log in again)", err)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Errorf("%w (something answers that does not have the cluster's certificate: look at --server, --context and --kubeconfig)", err)
	case silent(err) != nil:
		return fmt.Errorf("%w (the cluster does not answer: look at --context, --kubeconfig and kubectl cluster-info)", err)
	}
	return err
}

// silent is why the cluster does not answer, or not in time, or not this person; nil for any other error.
func silent(err error) error {
	var request *url.Error
	var answer *apierrors.StatusError
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &request):
		return request.Err
	case !errors.As(err, &answer):
		return nil
	case apierrors.IsUnauthorized(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return answer
	}
	return nil
}

// completeNamespace completes -n.
func (a *app) completeNamespace(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.namespaces(c.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	}) // the flag is there
}

// completeContext completes --context.
func (a *app) completeContext(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc(clientcmd.FlagContext, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		config, err := a.flags.rules.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		other := func(name string) bool { return !strings.HasPrefix(name, typed) }
		return slices.DeleteFunc(slices.Sorted(maps.Keys(config.Contexts)), other), cobra.ShellCompDirectiveNoFileComp
	}) // the flag is there
}

// namespaces has none when they cannot be read: there is nobody to tell while a shell completes.
func (a *app) namespaces(ctx context.Context, prefix string) []string {
	cl, err := a.connect()
	if err != nil {
		return nil
	}
	list, err := cl.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range list.Items {
		if strings.HasPrefix(n.Name, prefix) {
			names = append(names, n.Name)
		}
	}
	return names
}
