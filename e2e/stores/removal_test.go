package stores

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// removal is one step of somebody who removes a store under its server.
type removal struct {
	name string
	do   func(ctx context.Context) error
	// kept: what was written is still there.
	kept bool
}

func removeDir(path string) []removal {
	return []removal{
		{name: "removed", do: func(context.Context) error { return os.RemoveAll(path) }},
		{name: "made again", do: func(context.Context) error { return os.Mkdir(path, 0o700) }},
	}
}

func removeBucket(gateway string) []removal {
	return []removal{
		{name: "emptied", do: func(ctx context.Context) error { return emptyBucket(ctx, gateway) }},
		{name: "removed", do: func(ctx context.Context) error {
			client, err := gatewayClient(ctx, gateway)
			if err == nil {
				_, err = client.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: aws.String(bucket)})
			}
			return err
		}},
		{name: "made again", do: func(ctx context.Context) error { return makeBucket(ctx, gateway) }},
	}
}

func emptyBucket(ctx context.Context, gateway string) error {
	client, err := gatewayClient(ctx, gateway)
	if err != nil {
		return err
	}
	list, err := client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	if err != nil {
		return err
	}
	for _, object := range list.Contents {
		_, err := client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String(bucket), Key: object.Key})
		if err != nil {
			return err
		}
	}
	return nil
}

func removeNamespace(cluster kubernetes.Interface, name string) []removal {
	core := cluster.CoreV1()
	return []removal{
		{name: "being deleted", kept: true, do: func(ctx context.Context) error {
			return core.Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{name: "emptied", do: func(ctx context.Context) error {
			return core.Secrets(name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}},
		{name: "removed", do: func(ctx context.Context) error { return finalizeNamespace(ctx, cluster, name) }},
		{name: "made again", do: func(ctx context.Context) error {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
			return err
		}},
	}
}

// finalizeNamespace does what the namespace controller, which does not run here, does
// at the end.
func finalizeNamespace(ctx context.Context, cluster kubernetes.Interface, name string) error {
	namespaces := cluster.CoreV1().Namespaces()
	namespace, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	namespace.Spec.Finalizers = nil
	_, err = namespaces.Finalize(ctx, namespace, metav1.UpdateOptions{})
	return err
}
