/** Owns what a tree of files is for packing, wherever it comes from. */

export interface FolderNode {
  readonly name: string;
  children(): Promise<readonly TreeNode[]>;
}

export interface FileNode {
  readonly name: string;
  file(): Promise<File>;
}

export type TreeNode = FolderNode | FileNode;

export function isFolder(node: TreeNode): node is FolderNode {
  return 'children' in node;
}
